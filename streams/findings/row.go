package findings

import "github.com/tieout/tieout/pkg/settle"

// table describes dispute; a finding writes its columns in this order. The key
// holds all of them, so that no two rows of one key can differ in the economics.
func table() settle.Table {
	return settle.Table{
		Name: "dispute",
		Columns: []settle.Column{
			{Name: "settlement_interval", Type: settle.Text},
			{Name: "reconciliation_key", Type: settle.Bytes},
			{Name: "version", Type: settle.Int64},
			{Name: "revision", Type: settle.Int32},
			{Name: "trade_id", Type: settle.Text},
			{Name: "node_id", Type: settle.Text},
			{Name: "trade_version", Type: settle.Int64},
			{Name: "trade_revision", Type: settle.Int32},
			{Name: "class", Type: settle.Text},
			{Name: "statement_amount", Type: settle.Decimal},
			{Name: "ledger_amount", Type: settle.Decimal},
			{Name: "currency", Type: settle.Text},
		},
		Key:       []string{"settlement_interval", "reconciliation_key", "revision"},
		Economics: []string{"statement_amount", "ledger_amount"},
		Version:   "version",
		Claimed:   "statement_amount",
	}
}

// WriteColumns writes the columns of the stream's table.
func (f *finding) WriteColumns(w settle.RowWriter) {
	e := &f.envelope
	w.Text(e.SettlementInterval)
	w.Bytes(f.key[:])
	w.Int64(onlyVersion)
	w.Int32(settle.OriginalRevision)
	w.Text(e.TradeID)
	settle.WriteNullable(w, w.Text, e.NodeID)
	settle.WriteNullable(w, w.Int64, e.Version)
	settle.WriteNullable(w, w.Int32, e.Revision)
	w.Text(e.Class)
	settle.WriteNullDecimal(w, f.statement)
	settle.WriteNullDecimal(w, f.ledger)
	w.Text(e.Currency)
}
