package sales

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// A claim is one claim line on its way to the ledger. One allocation holds it
// all.
type claim struct {
	envelope Envelope
	key      reconkey.Key
	units    money.Decimal
	rate     money.Decimal
	claimed  money.NullDecimal
}

// Envelope, ReadFigures, Posting, CheckContent and Amount are settle.Draft's.

func (c *claim) Envelope() settle.Envelope { return &c.envelope }

func (c *claim) ReadFigures() (beyond, failure *settle.Failure) {
	var figures settle.FigureReader
	p := &c.envelope.Payload
	figures.Read("qualifying_units", p.QualifyingUnits, &c.units)
	figures.Read("tier_rate", p.TierRate, &c.rate)
	figures.ReadNullable("claimed_amount", p.ClaimedAmount, &c.claimed)
	return figures.Result()
}

func (c *claim) Posting(key reconkey.Key) settle.Posting {
	c.key = key
	return settle.Posting{
		Version:  int64(c.envelope.AgreementVersion),
		Revision: settle.OriginalRevision,
		Quantity: money.NullDecimal{Decimal: c.units, Valid: true},
		Currency: c.envelope.Payload.Currency,
		Row:      c,
	}
}

func (c *claim) CheckContent() *settle.Failure {
	p := &c.envelope.Payload
	switch p.PromoTier {
	case "BRONZE", "SILVER", "GOLD", "PLATINUM":
	default:
		return settle.Business(settle.ReasonInvalidPromoCode, "promo_tier", p.PromoTier).
			WithDetail("want BRONZE, SILVER, GOLD or PLATINUM")
	}
	if c.units.Sign() < 0 {
		return settle.Business(settle.ReasonNegativeUnits, "qualifying_units", shown(c.units))
	}
	if c.rate.Sign() < 0 {
		return settle.Business(settle.ReasonNegativeRate, "tier_rate", shown(c.rate))
	}
	if !twoMinorDigits(p.Currency) {
		return settle.Business(settle.ReasonUnsupportedCurrency, "currency", p.Currency).
			WithDetail("want an ISO 4217 code with two minor digits, in upper case")
	}
	return nil
}

func (c *claim) Amount() (amount money.Decimal, claimed money.NullDecimal, failure *settle.Failure) {
	if amount, failure = settle.Product(c.units, c.rate, money.HalfUp); failure != nil {
		return amount, c.claimed, failure
	}
	if c.claimed.Valid && !c.claimed.Decimal.Sub(amount).InRange() {
		// Such a claim fits its column, but what it's off by doesn't.
		failure = settle.Business(settle.ReasonOutOfRange, "claimed_amount", shown(c.claimed.Decimal)).
			WithDetail("its difference from %s doesn't fit numeric(38,9)", amount)
	}
	return amount, c.claimed, failure
}

// shown is a decimal without the zeros that its encoding adds.
func shown(d money.Decimal) string { return d.Normalize().String() }
