package sales

import (
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// originalRevision is the revision of every posting but a recalculation's.
const originalRevision = 0

// table describes sales_ledger; a row writes its columns in this order.
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
	}
}

// A row is a claim on its way to the ledger. One allocation holds it all.
type row struct {
	envelope Envelope
	key      reconkey.Key
	figures
}

// WriteColumns writes the columns of the stream's table.
func (r *row) WriteColumns(w settle.RowWriter) {
	e, p := &r.envelope, &r.envelope.Payload
	w.Text(e.ClaimPeriod)
	w.Bytes(r.key[:])
	w.Int32(originalRevision)
	w.Text(p.RetailerInvoice)
	w.Text(p.LineItemHash)
	w.Text(p.PromoTier)
	w.Int32(e.AgreementVersion)
	w.Text(e.VendorID)
	w.Text(p.StoreID)
	w.TimestampMicros(p.TransactionDate)
	w.Decimal(r.units)
	w.Decimal(r.rate)
	if r.claimed.Valid {
		w.Decimal(r.claimed.Decimal)
	} else {
		w.Null()
	}
	w.Text(p.Currency)
}
