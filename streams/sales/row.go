package sales

import "github.com/tieout/tieout/pkg/settle"

// table describes sales_ledger; a claim writes its columns in this order.
func table() settle.Table {
	return settle.Table{
		Name: "sales_ledger",
		Columns: []settle.Column{
			{Name: "claim_period", Type: settle.Text},
			{Name: "reconciliation_key", Type: settle.Bytes},
			{Name: "revision", Type: settle.Int32},
			{Name: "retailer_invoice", Type: settle.Text},
			{Name: "line_item_hash", Type: settle.Text},
			{Name: "promo_tier", Type: settle.Text},
			{Name: "agreement_version", Type: settle.Int32},
			{Name: "vendor_id", Type: settle.Text},
			{Name: "store_id", Type: settle.Text},
			{Name: "transaction_date", Type: settle.Timestamp},
			{Name: "qualifying_units", Type: settle.Decimal},
			{Name: "tier_rate", Type: settle.Decimal},
			{Name: "claimed_amount", Type: settle.Decimal},
			{Name: "currency", Type: settle.Text},
		},
		Key:       []string{"claim_period", "reconciliation_key", "revision"},
		Economics: []string{"vendor_id", "qualifying_units", "tier_rate", "claimed_amount", "currency"},
		Pinned:    []string{"agreement_version"},
		Version:   "agreement_version",
		Claimed:   "claimed_amount",
		Quantity:  "qualifying_units",
	}
}

// WriteColumns writes the columns of the stream's table.
func (c *claim) WriteColumns(w settle.RowWriter) {
	e, p := &c.envelope, &c.envelope.Payload
	w.Text(e.ClaimPeriod)
	w.Bytes(c.key[:])
	w.Int32(settle.OriginalRevision)
	w.Text(p.RetailerInvoice)
	w.Text(p.LineItemHash)
	w.Text(p.PromoTier)
	w.Int32(e.AgreementVersion)
	w.Text(e.VendorID)
	w.Text(p.StoreID)
	w.TimestampMicros(p.TransactionDate)
	w.Decimal(c.units)
	w.Decimal(c.rate)
	settle.WriteNullDecimal(w, c.claimed)
	w.Text(p.Currency)
}
