package trades

// An Envelope is one version of a trade as its producer enqueued it: the Avro
// record io.tieout.trades.TradeRecord. Its decimals are unscaled bytes of
// settle.DecimalScale.
type Envelope struct {
	MessageID          string  `avro:"message_id"`
	ReconciliationKey  string  `avro:"reconciliation_key"`
	CorrelationID      string  `avro:"correlation_id"`
	TradeID            string  `avro:"trade_id"`
	Version            int64   `avro:"version"`
	NodeID             string  `avro:"node_id"`
	SettlementInterval string  `avro:"settlement_interval"` // as FormatInterval writes it
	MWh                []byte  `avro:"mwh"`
	Price              []byte  `avro:"price"`
	Currency           string  `avro:"currency"`
	LastModified       *int64  `avro:"last_modified"` // microseconds since the Unix epoch
	MarketRun          *string `avro:"market_run"`
	MeterID            *string `avro:"meter_id"`
}

// Stated returns the envelope's own key and correlation id.
func (e *Envelope) Stated() (key, correlationID string) { return e.ReconciliationKey, e.CorrelationID }

// Quantity returns the volume.
func (e *Envelope) Quantity() []byte { return e.MWh }
