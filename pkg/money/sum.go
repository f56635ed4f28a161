package money

import (
	"math/big"
	"math/bits"
	"strings"
)

// A Sum is the exact sum of any number of decimals: 192 bits hold more of the
// largest than any topic does. It's a value, compared by ==. The zero value is
// 0.
type Sum struct {
	words [sumWords]uint64 // two's complement at MaxScale, the lowest word first
}

const (
	sumWords = 3
	wordBits = 64
)

// maxSumDigits bounds the text of a sum: what 191 bits hold.
const maxSumDigits = 58

// Add adds a decimal in range; every decimal that was read is.
func (s *Sum) Add(d Decimal) {
	c, _ := d.coefficient.times(pow10[MaxScale-d.scale])
	addend := Sum{[sumWords]uint64{c.lo, c.hi}}
	if d.negative {
		addend = addend.negated()
	}
	*s = s.Plus(addend)
}

// Plus returns s + o.
func (s Sum) Plus(o Sum) (total Sum) {
	var carry uint64
	for i := range s.words {
		total.words[i], carry = bits.Add64(s.words[i], o.words[i], carry)
	}
	return total
}

// Minus returns s - o.
func (s Sum) Minus(o Sum) Sum { return s.Plus(o.negated()) }

func (s Sum) negated() (opposite Sum) {
	var borrow uint64
	for i := range s.words {
		opposite.words[i], borrow = bits.Sub64(0, s.words[i], borrow)
	}
	return opposite
}

// IsZero tells whether the sum is 0.
func (s Sum) IsZero() bool { return s == Sum{} }

func (s Sum) isNegative() bool { return s.words[sumWords-1]>>(wordBits-1) != 0 }

// String returns plain notation, without zeros behind the last digit of the
// fraction: 1234.5.
func (s Sum) String() string {
	magnitude, sign := s, ""
	if s.isNegative() {
		magnitude, sign = s.negated(), "-"
	}
	n := new(big.Int)
	for i := range magnitude.words {
		word := new(big.Int).SetUint64(magnitude.words[sumWords-1-i])
		n.Or(n.Lsh(n, wordBits), word)
	}
	digits := n.String()
	if missing := MaxScale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - MaxScale
	fraction := strings.TrimRight(digits[point:], "0")
	if fraction == "" {
		return sign + digits[:point]
	}
	return sign + digits[:point] + "." + fraction
}

// ParseSum is the inverse of Sum.String, and takes zeros behind the fraction. It
// fails with a *ParseError.
func ParseSum(text string) (Sum, error) {
	s, err := parseSum(text)
	if err != nil {
		return Sum{}, &ParseError{Value: text, Reason: err}
	}
	return s, nil
}

func parseSum(text string) (s Sum, err error) {
	unsigned, negative := strings.CutPrefix(text, "-")
	whole, fraction, hasFraction := strings.Cut(unsigned, ".")
	switch {
	case !isDigits(whole), hasFraction && !isDigits(fraction):
		return s, ErrNotADecimal
	case len(fraction) > MaxScale:
		return s, ErrTooManyFractionDigits
	}
	digits := strings.TrimLeft(whole, "0") + fraction + strings.Repeat("0", MaxScale-len(fraction))
	if len(digits) > maxSumDigits {
		return s, ErrOutOfRange
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || n.BitLen() >= sumWords*wordBits {
		return s, ErrOutOfRange
	}
	word := new(big.Int)
	mask := new(big.Int).SetUint64(^uint64(0))
	for i := range s.words {
		s.words[i] = word.And(n, mask).Uint64()
		n.Rsh(n, wordBits)
	}
	if negative {
		s = s.negated()
	}
	return s, nil
}

// isDigits tells whether text is digits and nothing else.
func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
