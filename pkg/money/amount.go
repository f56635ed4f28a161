package money

import "github.com/cockroachdb/apd/v3"

const (
	// precision is how many digits a product may need: decimal's in Python, so
	// that an auditor gets the same without a setting.
	precision = 28
	// centScale is the number of fraction digits of an amount.
	centScale = 2
	// amountLimit is 10^18 cents, the first that numeric(18,2) doesn't hold.
	amountLimit = uint64(1e18)
)

// Amount returns quantity x rate, rounded once, to the cent. It's ErrOutOfRange
// where 28 digits don't hold the product exactly, or numeric(18,2) the amount.
func Amount(quantity, rate Decimal, mode Rounding) (Decimal, error) {
	rounder := mode.rounder()
	if rounder == "" {
		return Decimal{}, ErrUnknownRounding
	}
	exact := apd.Context{Precision: precision, MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent}
	var x, y, product apd.Decimal
	quantity.copyTo(&x)
	rate.copyTo(&y)
	condition, err := exact.Mul(&product, &x, &y)
	switch {
	case err != nil:
		return Decimal{}, err
	case condition.Inexact():
		return Decimal{}, errInexact
	}
	cents, ok := roundToCents(&product, rounder)
	if !ok {
		return Decimal{}, errAmountOutOfRange
	}
	return newDecimal(product.Negative, coefficient{lo: cents}, centScale), nil
}

// roundToCents returns the product's magnitude in cents, and whether it's below
// the limit. apd's Quantize isn't used: it takes anything below a tenth of a
// cent for 0 even where that is to be rounded up (and it costs three times as
// much). Which way a rest goes is apd's rule all the same.
func roundToCents(product *apd.Decimal, rounder apd.Rounder) (cents uint64, ok bool) {
	shift := product.Exponent + centScale
	var unit, quotient, rest apd.BigInt
	if shift >= 0 {
		if product.IsZero() {
			return 0, true
		}
		if shift >= int32(len(pow10)) {
			return 0, false
		}
		unit.SetUint64(pow10[shift])
		quotient.Mul(&product.Coeff, &unit)
		return quotient.Uint64(), quotient.IsUint64() && quotient.Uint64() < amountLimit
	}
	unit.SetUint64(pow10[-shift])
	quotient.QuoRem(&product.Coeff, &unit, &rest)
	if rest.Sign() != 0 {
		rest.Lsh(&rest, 1)
		if rounder.ShouldAddOne(&quotient, product.Negative, rest.Cmp(&unit)) {
			unit.SetUint64(1)
			quotient.Add(&quotient, &unit)
		}
	}
	return quotient.Uint64(), quotient.IsUint64() && quotient.Uint64() < amountLimit
}

// copyTo makes d an apd decimal, in place, so that neither needs the heap.
func (d Decimal) copyTo(x *apd.Decimal) {
	x.Coeff.SetUint64(d.coefficient.lo)
	if d.coefficient.hi != 0 {
		var hi apd.BigInt
		hi.SetUint64(d.coefficient.hi)
		hi.Lsh(&hi, 64)
		x.Coeff.Or(&x.Coeff, &hi)
	}
	x.Exponent = -int32(d.scale)
	x.Negative = d.negative
}
