package money

import (
	"math/big"
	"strings"
	"testing"
)

// FuzzParse: what is taken comes back as it was written, and apart from signs
// and leading zeros nothing is taken that a number isn't written as.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "-0.00", "1.50", "99999999999999999999999999999.999999999", "1e3", ".5", "+5", "٣", "1" + strings.Repeat("0", 40), "0.0000000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if !d.InRange() {
			t.Fatalf("%q is out of range", text)
		}
		value, ok := new(big.Rat).SetString(text)
		if !ok || value.Cmp(rational(d)) != 0 {
			t.Fatalf("%q became %s", text, d)
		}
		canonical := strings.TrimLeft(strings.TrimPrefix(text, "-"), "0")
		if canonical == "" || canonical[0] == '.' {
			canonical = "0" + canonical
		}
		if got := strings.TrimPrefix(d.String(), "-"); got != canonical {
			t.Fatalf("%q became %s", text, got)
		}
	})
}

// FuzzFromUnscaled: any bytes are an integer that either is out of range or
// comes back in the fewest bytes.
func FuzzFromUnscaled(f *testing.F) {
	f.Add([]byte{}, int32(9))
	f.Add([]byte{0}, int32(0))
	f.Add([]byte{0x80}, int32(2))
	f.Add([]byte{0xff, 0xff, 0x80}, int32(9))
	f.Add(append([]byte{0}, limit38().bytes()...), int32(9))
	f.Fuzz(func(t *testing.T, b []byte, scale int32) {
		d, err := FromUnscaled(b, scale)
		if scale < 0 || scale > MaxScale || len(b) == 0 {
			if err == nil {
				t.Fatalf("%x at scale %d is taken", b, scale)
			}
			return
		}
		n := integerOf(b)
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(29+scale)), nil)
		if inRange := n.CmpAbs(limit) < 0; inRange != (err == nil) {
			t.Fatalf("%s at scale %d: %v", n, scale, err)
		}
		if d.Sign() != n.Sign() {
			t.Fatalf("%s has sign %d", n, d.Sign())
		}
		if err != nil {
			return
		}
		again, err := d.AppendUnscaled(nil, scale)
		if err != nil || integerOf(again).Cmp(n) != 0 || len(again) > len(b) {
			t.Fatalf("%x became %x: %v", b, again, err)
		}
	})
}

func integerOf(twosComplement []byte) *big.Int {
	n := new(big.Int).SetBytes(twosComplement)
	if twosComplement[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(twosComplement))))
	}
	return n
}

func (c coefficient) bytes() []byte { return bigOf(c.hi, c.lo).Bytes() }
