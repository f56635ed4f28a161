package ledger

import (
	"encoding/binary"
	"math/bits"

	"github.com/tieout/tieout/pkg/money"
)

// Postgres' binary numeric: base-10000 digits, the most significant first, with
// the power of 10000 of the first one as its weight. The decimal point is
// between two digits.
const (
	numericBase        = 10000
	numericBaseDigits  = 4
	numericNegative    = 0x4000
	numericHeaderBytes = 8
	// maxNumericDigits holds any 128-bit coefficient at any scale.
	maxNumericDigits = 12
)

// appendNumeric appends a decimal in Postgres' binary form, with its length
// before it. It allocates nothing beyond dst.
func appendNumeric(dst []byte, d money.Decimal) []byte {
	negative, hi, lo, scale := d.Parts()
	var digits [maxNumericDigits]uint16 // the least significant first
	count := 0
	fraction := (int(scale) + numericBaseDigits - 1) / numericBaseDigits // digits behind the point
	if rest := scale % numericBaseDigits; rest != 0 && hi|lo != 0 {
		// The last fraction digit is only partly filled by the scale.
		pow := [numericBaseDigits]uint64{1, 10, 100, 1000}
		var partial uint64
		hi, lo, partial = divide(hi, lo, pow[rest])
		digits[0] = uint16(partial * pow[numericBaseDigits-rest])
		count = 1
	}
	for hi|lo != 0 {
		var digit uint64
		hi, lo, digit = divide(hi, lo, numericBase)
		digits[count] = uint16(digit)
		count++
	}
	weight := count - fraction - 1
	first := 0 // trailing zeros aren't written
	for first < count && digits[first] == 0 {
		first++
	}
	if first == count {
		count, first, weight, negative = 0, 0, 0, false
	}
	sign := uint16(0)
	if negative {
		sign = numericNegative
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(numericHeaderBytes+2*(count-first)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(count-first))
	dst = binary.BigEndian.AppendUint16(dst, uint16(weight))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for i := count - 1; i >= first; i-- {
		dst = binary.BigEndian.AppendUint16(dst, digits[i])
	}
	return dst
}

// divide divides 128 bits by a divisor that fits 64.
func divide(hi, lo, divisor uint64) (quotientHi, quotientLo, rest uint64) {
	if hi == 0 {
		return 0, lo / divisor, lo % divisor
	}
	quotientHi, rest = hi/divisor, hi%divisor
	quotientLo, rest = bits.Div64(rest, lo, divisor)
	return quotientHi, quotientLo, rest
}

// fitsScale tells whether a decimal has no more fraction digits than a column:
// Postgres would round the rest away without a word.
func fitsScale(d money.Decimal, scale int32) bool {
	if _, _, _, have := d.Parts(); have <= scale {
		return true
	}
	_, _, _, have := d.Normalize().Parts()
	return have <= scale
}
