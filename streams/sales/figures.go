package sales

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// figures are the numbers of a claim.
type figures struct {
	units   money.Decimal
	rate    money.Decimal
	claimed money.NullDecimal
}

// decode reads the payload's decimals. What isn't a number is found first of
// all; a number that is out of range comes last of all checks, and is returned
// as beyond.
func (f *figures) decode(p *Payload) (beyond, failure *settle.Failure) {
	f.claimed.Valid = p.ClaimedAmount != nil
	for _, field := range [...]struct {
		name     string
		unscaled []byte
		into     *money.Decimal
	}{
		{"qualifying_units", p.QualifyingUnits, &f.units},
		{"tier_rate", p.TierRate, &f.rate},
		{"claimed_amount", p.ClaimedAmount, &f.claimed.Decimal},
	} {
		if field.into == &f.claimed.Decimal && !f.claimed.Valid {
			continue
		}
		decimal, failure := settle.DecodeDecimal(field.name, field.unscaled, DecimalScale)
		switch {
		case failure == nil:
		case failure.Class == settle.ClassStructural:
			return nil, failure
		case beyond == nil:
			beyond = failure
		}
		*field.into = decimal
	}
	return beyond, nil
}
