package money

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSum_AgreesWithRationalsWhateverIsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum Sum
		want := new(big.Rat)
		for _, d := range rapid.SliceOf(decimals()).Draw(t, "decimals") {
			sum.Add(d)
			want.Add(want, rational(d))
		}
		got, ok := new(big.Rat).SetString(sum.String())
		require.True(t, ok, sum.String())
		require.Zero(t, want.Cmp(got), "%s is not %s", sum, want)
		require.Equal(t, want.Sign() == 0, sum.IsZero())

		back, err := ParseSum(sum.String())
		require.NoError(t, err)
		require.Equal(t, sum, back)
	})
}

func TestSum_PlusAndMinusAreEachOthersInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Sum
		a.Add(decimals().Draw(t, "a"))
		b.Add(decimals().Draw(t, "b"))
		require.Equal(t, a, a.Plus(b).Minus(b))
		require.Equal(t, a.Plus(b), b.Plus(a))
		require.Equal(t, a.Minus(b), Sum{}.Minus(b.Minus(a)))
	})
}

func TestSum_HoldsMoreThanATopicOfTheLargest(t *testing.T) {
	var sum Sum
	largest := limit(true)
	sum.Add(largest)
	want := new(big.Rat).Set(rational(largest))
	for range 62 { // 2^62 of them
		sum = sum.Plus(sum)
		want.Add(want, want)
	}
	require.Equal(t, strings.TrimRight(want.FloatString(MaxScale), "0"), sum.String())
}

func TestSum_IsWrittenAsShortAsItIs(t *testing.T) {
	for want, terms := range map[string][]string{
		"0":            nil,
		"-0.000000001": {"-0.000000001"},
		"0.3":          {"0.1", "0.20"},
		"-1":           {"1.5", "-2.5"},
		"100":          {"99.999999999", "0.000000001"},
	} {
		var sum Sum
		for _, term := range terms {
			sum.Add(MustParse(term))
		}
		require.Equal(t, want, sum.String())
	}
}

func TestParseSum_TakesWhatPostgresWritesAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "12.340000000": "12.34", "007": "7",
		strings.Repeat("9", 48): strings.Repeat("9", 48),
	} {
		sum, err := ParseSum(text)
		require.NoError(t, err)
		require.Equal(t, want, sum.String())
	}
	for text, want := range map[string]error{
		"": ErrNotADecimal, "-": ErrNotADecimal, "+1": ErrNotADecimal, "1.": ErrNotADecimal, ".5": ErrNotADecimal, "1e3": ErrNotADecimal,
		"NaN": ErrNotADecimal, "1 ": ErrNotADecimal, "--1": ErrNotADecimal, "1.2.3": ErrNotADecimal, "٣": ErrNotADecimal,
		"0.0000000001":                 ErrTooManyFractionDigits,
		strings.Repeat("9", 49):        ErrOutOfRange,
		strings.Repeat("9", 1_000_000): ErrOutOfRange,
	} {
		_, err := ParseSum(text)
		require.ErrorIs(t, err, want, "%.20s", text)
	}
}

func BenchmarkSum_Add(b *testing.B) {
	var sum Sum
	d := MustParse("-1234.567")
	for b.Loop() {
		sum.Add(d)
	}
	require.False(b, sum.IsZero())
}
