// Package money holds decimals that never pass through a float: what a claim
// states, what a settlement computes, what a ledger keeps. It's the only
// package that uses apd's arithmetic, and gives the results of Python's decimal
// module at a precision of 28 digits, to the bit.
package money

import "strings"

// MaxScale is how many fraction digits a decimal may have: those of
// numeric(38,9), in which quantities, rates and claims are kept.
const MaxScale = 9

// A Decimal is a number with up to 9 fraction digits that fits numeric(38,9),
// or the difference of two such numbers. It's a value of three words without
// pointers: copied, not shared. The zero value is 0. There is no negative zero.
type Decimal struct {
	coefficient coefficient
	scale       uint8
	negative    bool // never where the coefficient is 0
}

// A NullDecimal is a decimal that may be absent.
type NullDecimal struct {
	Decimal Decimal
	Valid   bool
}

// newDecimal makes a decimal of parts whose scale is known to be good.
func newDecimal(negative bool, c coefficient, scale uint8) Decimal {
	return Decimal{coefficient: c, scale: scale, negative: negative && !c.isZero()}
}

// FromParts is the inverse of Parts. It fails with ErrScale or ErrOutOfRange.
func FromParts(negative bool, hi, lo uint64, scale int32) (Decimal, error) {
	if scale < 0 || scale > MaxScale {
		return Decimal{}, ErrScale
	}
	d := newDecimal(negative, coefficient{hi, lo}, uint8(scale))
	if !d.InRange() {
		return Decimal{}, ErrOutOfRange
	}
	return d, nil
}

// Parts returns the sign, the 128 bits of the coefficient and the number of
// fraction digits, for encodings that are written by hand.
func (d Decimal) Parts() (negative bool, hi, lo uint64, scale int32) {
	return d.negative, d.coefficient.hi, d.coefficient.lo, int32(d.scale)
}

// InRange tells whether the decimal fits numeric(38,9). Only a difference may
// be out of range.
func (d Decimal) InRange() bool {
	// Most coefficients are so small that no scale makes them too large.
	if d.coefficient.hi == 0 {
		return true
	}
	_, ok := d.coefficient.rescaled(d.scale, MaxScale)
	return ok
}

// Sign returns -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.coefficient.isZero():
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// Equal compares by value: 1.50 is 1.5.
func (d Decimal) Equal(o Decimal) bool {
	if d.scale == o.scale {
		return d == o
	}
	d, o = d.Normalize(), o.Normalize()
	return d == o
}

// Normalize returns the same value without trailing zeros in the fraction.
func (d Decimal) Normalize() Decimal {
	for d.scale > 0 {
		shorter, rest := d.coefficient.dividedBy(10)
		if rest != 0 {
			break
		}
		d.coefficient = shorter
		d.scale--
	}
	return d
}

// Sub returns d - o, exactly. The difference of two decimals in range may
// itself be out of range, by less than one digit: whoever keeps it asks InRange.
// Taken further, it never comes back into range: a wrong amount can't result.
func (d Decimal) Sub(o Decimal) Decimal {
	if !d.InRange() || !o.InRange() {
		return newDecimal(d.negative, coefficient{^uint64(0), ^uint64(0)}, MaxScale)
	}
	// At any common scale both are below 10^38, and 128 bits hold their sum.
	scale := max(d.scale, o.scale)
	a, _ := d.coefficient.times(pow10[scale-d.scale])
	b, _ := o.coefficient.times(pow10[scale-o.scale])
	switch {
	case d.negative != o.negative:
		sum, _ := a.plus(b)
		return newDecimal(d.negative, sum, scale)
	case a.less(b):
		return newDecimal(!d.negative, b.minus(a), scale)
	}
	return newDecimal(d.negative, a.minus(b), scale)
}

// Add returns d + o, exactly, as Sub returns d - o.
func (d Decimal) Add(o Decimal) Decimal { return d.Sub(o.Neg()) }

// Neg returns -d.
func (d Decimal) Neg() Decimal { return newDecimal(!d.negative, d.coefficient, d.scale) }

// AmountString returns plain notation with two fraction digits, and more only
// where they aren't zeros: 1.50, 2.00, 0.125. Equal amounts have equal text.
func (d Decimal) AmountString() string {
	d = d.Normalize()
	text := d.String()
	switch d.scale {
	case 0:
		return text + ".00"
	case 1:
		return text + "0"
	}
	return text
}

// String returns plain notation with all fraction digits: 1.50, -0.000000001.
func (d Decimal) String() string {
	digits := d.coefficient.appendDigits(make([]byte, 0, maxDigits+1), int(d.scale)+1)
	var b strings.Builder
	b.Grow(len(digits) + len("-."))
	if d.negative {
		b.WriteByte('-')
	}
	point := len(digits) - int(d.scale)
	b.Write(digits[:point])
	if d.scale > 0 {
		b.WriteByte('.')
		b.Write(digits[point:])
	}
	return b.String()
}
