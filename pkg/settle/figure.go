package settle

import (
	"errors"

	"github.com/tieout/tieout/pkg/money"
)

// DecimalScale is the scale of every decimal in an envelope: all that a
// money.Decimal can have, so that encoding one never rounds.
const DecimalScale = money.MaxScale

// A FigureReader reads the decimals of an envelope one by one, as unscaled bytes
// of DecimalScale.
type FigureReader struct{ beyond, failure *Failure }

// Read reads a decimal. One that is out of range becomes the limit of the range
// with the right sign, so that a check of the sign can come first.
func (r *FigureReader) Read(field string, unscaled []byte, into *money.Decimal) {
	if r.failure != nil {
		return
	}
	decimal, failure := DecodeDecimal(field, unscaled, DecimalScale)
	switch {
	case failure == nil:
	case failure.Class == ClassStructural:
		r.failure = failure
	case r.beyond == nil:
		r.beyond = failure
	}
	*into = decimal
}

// ReadNullable reads a decimal that may be absent: nil, which is not the same
// as no bytes.
func (r *FigureReader) ReadNullable(field string, unscaled []byte, into *money.NullDecimal) {
	if into.Valid = unscaled != nil; into.Valid {
		r.Read(field, unscaled, &into.Decimal)
	}
}

// Result returns the first decimal that is out of range, and the first that
// isn't a number.
func (r *FigureReader) Result() (beyond, failure *Failure) { return r.beyond, r.failure }

// ParseDecimal reads a decimal that a line of a file states.
func ParseDecimal(field, text string) (money.Decimal, *Failure) {
	d, err := money.Parse(text)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, money.ErrTooManyFractionDigits):
		return d, Structural(ReasonTooManyFractionDigits, field, text).
			WithDetail("at most %d are kept, and nothing is rounded on the way in", money.MaxScale)
	case errors.Is(err, money.ErrOutOfRange):
		return d, Business(ReasonOutOfRange, field, text).WithDetail("it doesn't fit numeric(38,9)")
	}
	return d, Structural(ReasonNotADecimal, field, text)
}

// DecodeDecimal reads the bytes of a record's decimal. One that is out of range
// is a business failure, and stands beside it as the limit of the range with
// the right sign.
func DecodeDecimal(field string, unscaled []byte, scale int32) (money.Decimal, *Failure) {
	d, err := money.FromUnscaled(unscaled, scale)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, money.ErrOutOfRange):
		return d, Business(ReasonOutOfRange, field, "").WithDetail("%d bytes, which numeric(38,9) doesn't hold", len(unscaled))
	}
	return d, Structural(ReasonUndecodable, field, "").WithDetail("%v", err)
}

// Product computes quantity x rate, rounded once, to the cent. A product that
// can't be is the failure of the amount.
func Product(quantity, rate money.Decimal, mode money.Rounding) (money.Decimal, *Failure) {
	amount, err := money.Amount(quantity, rate, mode)
	if err != nil {
		return amount, Business(ReasonOutOfRange, "amount", quantity.Normalize().String()+" x "+rate.Normalize().String()).WithDetail("%v", err)
	}
	return amount, nil
}
