package sales

// An Envelope is one claim line as its producer enqueued it: the Avro record
// io.tieout.sales.SalesEnvelope.
type Envelope struct {
	MessageID         string  `avro:"message_id"`
	ReconciliationKey string  `avro:"reconciliation_key"`
	CorrelationID     string  `avro:"correlation_id"`
	VendorID          string  `avro:"vendor_id"`
	ClaimPeriod       string  `avro:"claim_period"`
	AgreementVersion  int32   `avro:"agreement_version"`
	QueueTier         string  `avro:"queue_tier"` // at the worker the topic decides
	Payload           Payload `avro:"payload"`
}

// A Payload is the claim line itself. Its decimals are unscaled bytes of
// settle.DecimalScale.
type Payload struct {
	StoreID         string `avro:"store_id"`
	RetailerInvoice string `avro:"retailer_invoice"`
	LineItemHash    string `avro:"line_item_hash"`
	PromoTier       string `avro:"promo_tier"`
	QualifyingUnits []byte `avro:"qualifying_units"`
	TierRate        []byte `avro:"tier_rate"`
	ClaimedAmount   []byte `avro:"claimed_amount"` // nil: the vendor claims nothing
	Currency        string `avro:"currency"`
	TransactionDate int64  `avro:"transaction_date"` // microseconds since the Unix epoch
}

// Stated returns the envelope's own key and correlation id.
func (e *Envelope) Stated() (key, correlationID string) { return e.ReconciliationKey, e.CorrelationID }

// Quantity returns the units that qualify.
func (e *Envelope) Quantity() []byte { return e.Payload.QualifyingUnits }
