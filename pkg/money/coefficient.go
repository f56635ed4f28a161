package money

import (
	"math/bits"
	"strconv"
)

// A coefficient is an unsigned integer of 128 bits: what 38 digits need. The
// arithmetic on it is that of digits, for reading, writing and aligning;
// products and rounding are apd's.
type coefficient struct{ hi, lo uint64 }

// maxDigits is how many digits a coefficient of 128 bits has at most.
const maxDigits = 39

// pow10 holds the powers of ten that fit a word.
//
//nolint:gochecknoglobals // Go has no constant arrays, and nothing writes to it
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// limit38 is 10^38, the first coefficient with 39 digits.
func limit38() coefficient { return coefficient{0x4b3b4ca85a86c47a, 0x098a224000000000} }

func (c coefficient) isZero() bool { return c.hi|c.lo == 0 }

func (c coefficient) less(o coefficient) bool {
	return c.hi < o.hi || c.hi == o.hi && c.lo < o.lo
}

// plus tells whether 128 bits hold the sum.
func (c coefficient) plus(o coefficient) (sum coefficient, ok bool) {
	var carry uint64
	sum.lo, carry = bits.Add64(c.lo, o.lo, 0)
	sum.hi, carry = bits.Add64(c.hi, o.hi, carry)
	return sum, carry == 0
}

// minus needs a subtrahend that isn't larger.
func (c coefficient) minus(o coefficient) (difference coefficient) {
	var borrow uint64
	difference.lo, borrow = bits.Sub64(c.lo, o.lo, 0)
	difference.hi, _ = bits.Sub64(c.hi, o.hi, borrow)
	return difference
}

// times tells whether 128 bits hold the product.
func (c coefficient) times(factor uint64) (product coefficient, ok bool) {
	carry, lo := bits.Mul64(c.lo, factor)
	over, hi := bits.Mul64(c.hi, factor)
	hi, more := bits.Add64(hi, carry, 0)
	return coefficient{hi, lo}, over|more == 0
}

func (c coefficient) dividedBy(divisor uint64) (quotient coefficient, rest uint64) {
	quotient.hi, rest = c.hi/divisor, c.hi%divisor
	quotient.lo, rest = bits.Div64(rest, c.lo, divisor)
	return quotient, rest
}

// rescaled moves the coefficient to a scale that isn't smaller, and tells
// whether it has at most 38 digits there.
func (c coefficient) rescaled(from, to uint8) (rescaled coefficient, ok bool) {
	rescaled, ok = c.times(pow10[to-from])
	return rescaled, ok && rescaled.less(limit38())
}

// appendDigits appends the decimal digits, at least so many.
func (c coefficient) appendDigits(dst []byte, atLeast int) []byte {
	var buffer [maxDigits]byte
	digits := buffer[:0]
	head, tail := c.dividedBy(pow10[19])
	if !head.isZero() {
		top, middle := head.dividedBy(pow10[19])
		if !top.isZero() {
			digits = strconv.AppendUint(digits, top.lo, 10)
		}
		digits = appendPadded(digits, middle, len(digits) > 0)
	}
	digits = appendPadded(digits, tail, len(digits) > 0)
	for range atLeast - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendPadded appends a number below 10^19, with its leading zeros where
// other digits stand before it.
func appendPadded(dst []byte, n uint64, padded bool) []byte {
	if !padded {
		return strconv.AppendUint(dst, n, 10)
	}
	for width := 18; width > 0 && n < pow10[width]; width-- {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, n, 10)
}
