package money

import (
	"errors"
	"math/big"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// decimals draws any decimal in range, of any scale; small and large ones are
// equally likely.
func decimals() *rapid.Generator[Decimal] {
	return rapid.Custom(func(t *rapid.T) Decimal {
		digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
		scale := rapid.IntRange(0, MaxScale).Draw(t, "scale")
		n, _ := new(big.Int).SetString(digits, 10)
		n.Mod(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(29+scale)), nil))
		lo := new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64()
		hi := new(big.Int).Rsh(n, 64).Uint64()
		d, err := FromParts(rapid.Bool().Draw(t, "negative"), hi, lo, int32(scale))
		require.NoError(t, err)
		return d
	})
}

// rational is the oracle's idea of a decimal.
func rational(d Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		panic("not a number: " + d.String())
	}
	return r
}

func TestDecimal_TextAndBytesAndPartsAllComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := decimals().Draw(t, "d")
		fromText, err := Parse(d.String())
		require.NoError(t, err)
		require.Equal(t, d, fromText)

		bytes, err := d.AppendUnscaled([]byte("kept"), MaxScale)
		require.NoError(t, err)
		require.Equal(t, "kept", string(bytes[:4]))
		fromBytes, err := FromUnscaled(bytes[4:], MaxScale)
		require.NoError(t, err)
		require.True(t, d.Equal(fromBytes))

		fromParts, err := FromParts(d.Parts())
		require.NoError(t, err)
		require.Equal(t, d, fromParts)
	})
}

func TestDecimal_SubAndEqualAndSignAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := decimals().Draw(t, "d"), decimals().Draw(t, "o")
		want := new(big.Rat).Sub(rational(d), rational(o))
		got := d.Sub(o)
		require.Zero(t, want.Cmp(rational(got)), "%s - %s = %s", d, o, got)
		require.Equal(t, want.Sign(), got.Sign())
		require.Equal(t, want.Sign() == 0, d.Equal(o))
		require.True(t, got.Equal(got.Normalize()))
		require.Equal(t, max(d.scale, o.scale), got.scale)
	})
}

func TestDecimal_AddAndNegAreTheInversesOfSub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := decimals().Draw(t, "d"), decimals().Draw(t, "o")
		require.Zero(t, new(big.Rat).Add(rational(d), rational(o)).Cmp(rational(d.Add(o))), "%s + %s = %s", d, o, d.Add(o))
		require.Equal(t, d, d.Neg().Neg())
		require.True(t, d.Add(d.Neg()).Equal(Decimal{}))
	})
}

func TestAmountString_IsOneTextForOneAmount(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0.00", "-0.0": "0.00", "7": "7.00", "1.5": "1.50", "-1.500000000": "-1.50", "0.125": "0.125", "100": "100.00", "0.010": "0.01",
	} {
		require.Equal(t, want, MustParse(text).AmountString(), text)
	}
}

func TestAppendUnscaled_NeverRoundsAndNeverOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := decimals().Draw(t, "d")
		scale := rapid.Int32Range(0, MaxScale).Draw(t, "scale")
		bytes, err := d.AppendUnscaled(nil, scale)
		if err != nil {
			require.ErrorIs(t, err, ErrTooManyFractionDigits)
			require.Greater(t, int32(d.Normalize().scale), scale)
			return
		}
		back, err := FromUnscaled(bytes, scale)
		require.NoError(t, err)
		require.True(t, d.Equal(back))
	})
}

// TestAmount_AgreesWithRationals computes half up and half even without apd.
func TestAmount_AgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantity, rate := decimals().Draw(t, "quantity"), decimals().Draw(t, "rate")
		mode := rapid.SampledFrom([]Rounding{HalfUp, HalfEven}).Draw(t, "mode")
		product := new(big.Rat).Mul(rational(quantity), rational(rate))
		got, err := Amount(quantity, rate, mode)
		want, inRange := centsOf(product, mode)
		if significantDigits(product) > precision || !inRange {
			require.ErrorIs(t, err, ErrOutOfRange)
			return
		}
		require.NoError(t, err)
		require.Zero(t, want.Cmp(rational(got)), "%s x %s = %s", quantity, rate, got)
		require.EqualValues(t, centScale, got.scale)
	})
}

// significantDigits counts the digits of a finite decimal fraction, without
// zeros at either end.
func significantDigits(r *big.Rat) int {
	n := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(2*MaxScale), nil)))
	digits := new(big.Int).Abs(n.Num()).String()
	for len(digits) > 1 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return len(digits)
}

func centsOf(product *big.Rat, mode Rounding) (amount *big.Rat, inRange bool) {
	cents := new(big.Rat).Abs(product)
	cents.Mul(cents, big.NewRat(100, 1))
	whole, rest := new(big.Int).QuoRem(cents.Num(), cents.Denom(), new(big.Int))
	double := rest.Lsh(rest, 1).Cmp(cents.Denom())
	if double > 0 || double == 0 && (mode == HalfUp || whole.Bit(0) == 1) {
		whole.Add(whole, big.NewInt(1))
	}
	inRange = whole.Cmp(big.NewInt(1e18)) < 0
	if product.Sign() < 0 {
		whole.Neg(whole)
	}
	return new(big.Rat).SetFrac(whole, big.NewInt(100)), inRange
}

// TestAmount_AgreesWithApdsQuantize holds the shortened way against the whole
// one, where the latter is right: see roundToCents.
func TestAmount_AgreesWithApdsQuantize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantity, rate := decimals().Draw(t, "quantity"), decimals().Draw(t, "rate")
		mode := rapid.SampledFrom(Roundings()).Draw(t, "mode")
		got, err := Amount(quantity, rate, mode)
		if err != nil {
			return
		}
		var x, y apd.Decimal
		quantity.copyTo(&x)
		rate.copyTo(&y)
		context := apd.BaseContext.WithPrecision(precision)
		context.Rounding = mode.rounder()
		_, err = context.Mul(&x, &x, &y)
		require.NoError(t, err)
		if !x.IsZero() && x.NumDigits()+int64(x.Exponent) < -centScale {
			return
		}
		_, err = context.Quantize(&x, &x, -centScale)
		require.NoError(t, err)
		require.True(t, got.Equal(MustParse(x.Text('f'))), "%s x %s, %s: %s, %s", quantity, rate, mode, got, &x)
	})
}

func TestDecimal_ZeroValueIsZero(t *testing.T) {
	var d Decimal
	require.Equal(t, "0", d.String())
	require.Zero(t, d.Sign())
	require.True(t, d.Equal(MustParse("-0.00")))
	require.Equal(t, MustParse("0"), d)
	require.Equal(t, "-1.5", d.Sub(MustParse("1.5")).String())
}

func TestFromParts_RefusesWhatDoesNotFit(t *testing.T) {
	for _, scale := range []int32{-1, 10} {
		_, err := FromParts(false, 0, 1, scale)
		require.ErrorIs(t, err, ErrScale)
		_, err = FromUnscaled([]byte{1}, scale)
		require.ErrorIs(t, err, ErrScale)
		_, err = MustParse("1").AppendUnscaled(nil, scale)
		require.ErrorIs(t, err, ErrScale)
	}
	_, err := FromParts(false, limit38().hi, limit38().lo, MaxScale)
	require.ErrorIs(t, err, ErrOutOfRange)
	_, err = FromParts(false, limit38().hi, limit38().lo-1, 0)
	require.ErrorIs(t, err, ErrOutOfRange, "at scale 0 it has too many digits before the point")
	_, err = FromParts(true, limit38().hi, limit38().lo-1, MaxScale)
	require.NoError(t, err)
}

func TestSub_WhatIsOutOfRangeNeverComesBack(t *testing.T) {
	largest, smallest := limit(false), limit(true)
	far := largest.Sub(smallest)
	require.Equal(t, "199999999999999999999999999999.999999998", far.String())
	for _, difference := range []Decimal{far, far.Sub(largest), largest.Sub(far), far.Sub(far), far.Sub(smallest.Sub(largest))} {
		require.False(t, difference.InRange())
		_, err := difference.AppendUnscaled(nil, MaxScale)
		require.ErrorIs(t, err, ErrOutOfRange)
	}
}

func TestRounding_NamesComeBack(t *testing.T) {
	require.Len(t, Roundings(), 8)
	for _, r := range Roundings() {
		same, err := ParseRounding(r.String())
		require.NoError(t, err)
		require.Equal(t, r, same)
	}
	require.Equal(t, "half_up", HalfUp.String())
	require.Equal(t, "Rounding(99)", Rounding(99).String())
	_, err := ParseRounding("Half_Up")
	require.ErrorIs(t, err, ErrUnknownRounding)
	_, err = Amount(MustParse("1"), MustParse("1"), Rounding(99))
	require.ErrorIs(t, err, ErrUnknownRounding)
}

func TestMustParse_PanicsOnWhatIsNoConstant(t *testing.T) {
	require.PanicsWithError(t, `decimal "1e3": not a decimal in plain notation`, func() { MustParse("1e3") })
}

// TestDecimal_SettlingAllocatesNothing holds what a worker does for each record.
func TestDecimal_SettlingAllocatesNothing(t *testing.T) {
	units, err := MustParse("12345678.123456789").AppendUnscaled(nil, MaxScale)
	require.NoError(t, err)
	rate, err := MustParse("0.987654321").AppendUnscaled(nil, MaxScale)
	require.NoError(t, err)
	claimed := MustParse("-12193262.22")
	encoded := make([]byte, 0, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		u, errU := FromUnscaled(units, MaxScale)
		r, errR := FromUnscaled(rate, MaxScale)
		amount, errA := Amount(u, r, HalfUp)
		difference := claimed.Sub(amount)
		var errE error
		encoded, errE = difference.AppendUnscaled(encoded[:0], MaxScale)
		_, _, lo, _ := difference.Parts()
		if errors.Join(errU, errR, errA, errE) != nil || lo == 0 || amount.Equal(claimed) {
			panic("settled wrongly")
		}
	}))
}
