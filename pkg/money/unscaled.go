package money

import "encoding/binary"

// coefficientBytes is the size of a coefficient, and the most bytes that an
// encoded one takes: 10^38 is below 2^127, so that the sign has its bit.
const coefficientBytes = 16

// FromUnscaled decodes the bytes of an Avro decimal: a big-endian two's
// complement integer, which may have more sign bytes than it needs, and no
// bytes isn't a number. As strconv does, it returns the limit of the range with
// the right sign beside ErrOutOfRange, so that a check of the sign still holds.
func FromUnscaled(b []byte, scale int32) (Decimal, error) {
	if scale < 0 || scale > MaxScale {
		return Decimal{}, ErrScale
	}
	if len(b) == 0 {
		return Decimal{}, ErrNotADecimal
	}
	negative := b[0]&0x80 != 0
	fill := byte(0)
	if negative {
		fill = 0xff
	}
	for len(b) > coefficientBytes && b[0] == fill {
		b = b[1:]
	}
	if len(b) > coefficientBytes || (b[0]&0x80 != 0) != negative {
		return limit(negative), ErrOutOfRange
	}
	var c coefficient
	if negative {
		c = coefficient{^uint64(0), ^uint64(0)}
	}
	for _, digit := range b {
		c.hi = c.hi<<8 | c.lo>>56
		c.lo = c.lo<<8 | uint64(digit)
	}
	if negative {
		c = c.negated()
	}
	d := newDecimal(negative, c, uint8(scale))
	if !d.InRange() {
		return limit(negative), ErrOutOfRange
	}
	return d, nil
}

// limit is the largest or the smallest decimal in range.
func limit(negative bool) Decimal {
	return newDecimal(negative, limit38().minus(coefficient{lo: 1}), MaxScale)
}

// AppendUnscaled appends the bytes of an Avro decimal of that scale, as few as
// hold it: the inverse of FromUnscaled. It never rounds: a decimal with other
// digits than zeros behind the scale is ErrTooManyFractionDigits, one with more
// than 38 digits at that scale is ErrOutOfRange.
func (d Decimal) AppendUnscaled(dst []byte, scale int32) ([]byte, error) {
	if scale < 0 || scale > MaxScale {
		return dst, ErrScale
	}
	if int32(d.scale) > scale {
		if d = d.Normalize(); int32(d.scale) > scale {
			return dst, ErrTooManyFractionDigits
		}
	}
	c, ok := d.coefficient.rescaled(d.scale, uint8(scale))
	if !ok {
		return dst, ErrOutOfRange
	}
	if d.negative {
		c = c.negated()
	}
	var b [coefficientBytes]byte
	binary.BigEndian.PutUint64(b[:8], c.hi)
	binary.BigEndian.PutUint64(b[8:], c.lo)
	start := 0
	// A byte goes where it only repeats the sign of the one behind it.
	for start < len(b)-1 && (b[start] == 0 && b[start+1]&0x80 == 0 || b[start] == 0xff && b[start+1]&0x80 != 0) {
		start++
	}
	return append(dst, b[start:]...), nil
}

// negated returns the two's complement.
func (c coefficient) negated() coefficient {
	return coefficient{}.minus(c)
}
