package producer

import (
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// A SalesClaim is one vendor claim line as text, as files have it.
type SalesClaim struct {
	VendorID         string
	StoreID          string
	RetailerInvoice  string
	LineItemHash     string
	PromoTier        string
	ClaimPeriod      string // YYYY-Qn or YYYY-Pnn
	AgreementVersion string // from 1
	QualifyingUnits  string // decimal in plain notation, up to 9 fraction digits
	TierRate         string // the same
	ClaimedAmount    string // the same; empty: the vendor claims no amount
	Currency         string // ISO 4217
	TransactionDate  string // RFC 3339, with a zone

	// CorrelationID follows the claim to its outcome (default: the message's
	// own id).
	CorrelationID string
}

// salesColumns are in the order in which claimOf takes them.
func salesColumns() []string {
	return []string{
		"vendor_id", "store_id", "retailer_invoice", "line_item_hash", "promo_tier", "claim_period",
		"agreement_version", "qualifying_units", "tier_rate", "claimed_amount", "currency", "transaction_date",
	}
}

// claimOf takes the values of a claim's columns, in their order.
func claimOf(values []string) SalesClaim {
	return SalesClaim{
		VendorID:         values[0],
		StoreID:          values[1],
		RetailerInvoice:  values[2],
		LineItemHash:     values[3],
		PromoTier:        values[4],
		ClaimPeriod:      values[5],
		AgreementVersion: values[6],
		QualifyingUnits:  values[7],
		TierRate:         values[8],
		ClaimedAmount:    values[9],
		Currency:         values[10],
		TransactionDate:  values[11],
	}
}

// fill puts the claim into an envelope, and refuses what isn't a number or a
// date: version, units, rate, claim and date in this order.
func (c *SalesClaim) fill(e *sales.Envelope) (failure *settle.Failure) {
	e.CorrelationID = c.CorrelationID
	e.VendorID = c.VendorID
	e.ClaimPeriod = c.ClaimPeriod
	p := &e.Payload
	p.StoreID = c.StoreID
	p.RetailerInvoice = c.RetailerInvoice
	p.LineItemHash = c.LineItemHash
	p.PromoTier = c.PromoTier
	p.Currency = c.Currency
	if e.AgreementVersion, failure = sales.ParseAgreementVersion(c.AgreementVersion); failure != nil {
		return failure
	}
	failure = fillDecimals(
		decimalField{name: "qualifying_units", text: c.QualifyingUnits, into: &p.QualifyingUnits},
		decimalField{name: "tier_rate", text: c.TierRate, into: &p.TierRate},
		decimalField{name: "claimed_amount", text: c.ClaimedAmount, into: &p.ClaimedAmount, optional: true},
	)
	if failure != nil {
		return failure
	}
	p.TransactionDate, failure = parseDate("transaction_date", c.TransactionDate)
	return failure
}
