package trades

import "github.com/tieout/tieout/pkg/settle"

// table describes trade_ledger; a trade writes its columns in this order.
func table() settle.Table {
	return settle.Table{
		Name: "trade_ledger",
		Columns: []settle.Column{
			{Name: "settlement_interval", Type: settle.Text},
			{Name: "reconciliation_key", Type: settle.Bytes},
			{Name: "version", Type: settle.Int64},
			{Name: "revision", Type: settle.Int32},
			{Name: "idempotency_key", Type: settle.Bytes},
			{Name: "trade_id", Type: settle.Text},
			{Name: "node_id", Type: settle.Text},
			{Name: "mwh", Type: settle.Decimal},
			{Name: "price", Type: settle.Decimal},
			{Name: "currency", Type: settle.Text},
			{Name: "market_run", Type: settle.Text},
			{Name: "meter_id", Type: settle.Text},
			{Name: "last_modified", Type: settle.Timestamp},
		},
		Key:       []string{"settlement_interval", "reconciliation_key", "version", "revision"},
		Economics: []string{"mwh", "price", "currency"},
		Version:   "version",
		Quantity:  "mwh",
	}
}

// WriteColumns writes the columns of the stream's table.
func (t *trade) WriteColumns(w settle.RowWriter) {
	e := &t.envelope
	w.Text(e.SettlementInterval)
	w.Bytes(t.key[:])
	w.Int64(e.Version)
	w.Int32(settle.OriginalRevision)
	w.Bytes(t.idempotencyKey[:])
	w.Text(e.TradeID)
	w.Text(e.NodeID)
	w.Decimal(t.mwh)
	w.Decimal(t.price)
	w.Text(e.Currency)
	settle.WriteNullable(w, w.Text, e.MarketRun)
	settle.WriteNullable(w, w.Text, e.MeterID)
	settle.WriteNullable(w, w.TimestampMicros, e.LastModified)
}
