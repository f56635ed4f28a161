package findings

// An Envelope is one finding as it was enqueued: the Avro record
// io.tieout.findings.Finding. Its decimals are unscaled bytes of
// settle.DecimalScale.
type Envelope struct {
	MessageID          string  `avro:"message_id"`
	ReconciliationKey  string  `avro:"reconciliation_key"`
	CorrelationID      string  `avro:"correlation_id"`
	TradeID            string  `avro:"trade_id"`
	NodeID             *string `avro:"node_id"`
	SettlementInterval string  `avro:"settlement_interval"` // as trades.FormatInterval writes it
	Version            *int64  `avro:"version"`
	Revision           *int32  `avro:"revision"`
	Class              string  `avro:"class"`
	StatementAmount    []byte  `avro:"statement_amount"` // nil: the statement has no such line
	LedgerAmount       []byte  `avro:"ledger_amount"`    // nil: the ledger has no such trade
	Currency           string  `avro:"currency"`
}

// Stated returns the envelope's own key and correlation id.
func (e *Envelope) Stated() (key, correlationID string) { return e.ReconciliationKey, e.CorrelationID }

// Quantity is none: findings have amounts, and no quantity.
func (e *Envelope) Quantity() []byte { return nil }
