package money

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectors are what Python's decimal module says; testdata/make_vectors.py
// makes them.
type vectors struct {
	Parse []struct {
		Text, Plain, Coefficient, Normalized, Unscaled, Refused string
		Scale                                                   int32
		Negative                                                bool
	}
	Amount []struct {
		Quantity, Rate, Mode, Amount, Refused string
	}
	Difference []struct {
		Left, Right, Difference string
		Equal                   bool
		InRange                 bool `json:"in_range"`
	}
	Unscaled []struct {
		Bytes, Plain, Refused string
		Scale                 int32
		Negative              bool
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/decimals.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(text, &v))
	require.Greater(t, len(v.Parse), 200)
	require.Greater(t, len(v.Amount), 1000)
	return v
}

// refusal names an error as the vectors do.
func refusal(err error) string {
	for name, target := range map[string]error{
		"not_a_decimal":            ErrNotADecimal,
		"too_many_fraction_digits": ErrTooManyFractionDigits,
		"out_of_range":             ErrOutOfRange,
	} {
		if errors.Is(err, target) {
			return name
		}
	}
	return ""
}

func TestParse_GivesPythonsDecimalOrItsRefusal(t *testing.T) {
	for _, v := range readVectors(t).Parse {
		d, err := Parse(v.Text)
		require.Equal(t, v.Refused, refusal(err), "%q", v.Text)
		if v.Refused != "" {
			var parseError *ParseError
			require.ErrorAs(t, err, &parseError)
			require.Equal(t, v.Text, parseError.Value)
			continue
		}
		require.NoError(t, err, "%q", v.Text)
		require.Equal(t, v.Plain, d.String(), "%q", v.Text)
		require.Equal(t, v.Normalized, d.Normalize().String(), "%q", v.Text)

		negative, hi, lo, scale := d.Parts()
		require.Equal(t, v.Negative, negative, "%q", v.Text)
		require.Equal(t, v.Coefficient, bigOf(hi, lo).String(), "%q", v.Text)
		require.Equal(t, v.Scale, scale, "%q", v.Text)
		again, err := FromParts(negative, hi, lo, scale)
		require.NoError(t, err)
		require.Equal(t, d, again)

		bytes, err := d.AppendUnscaled(nil, MaxScale)
		require.NoError(t, err, "%q", v.Text)
		require.Equal(t, v.Unscaled, hex.EncodeToString(bytes), "%q", v.Text)
		decoded, err := FromUnscaled(bytes, MaxScale)
		require.NoError(t, err, "%q", v.Text)
		require.True(t, d.Equal(decoded), "%q", v.Text)
	}
}

func TestAmount_IsPythonsAt28DigitsInEveryRounding(t *testing.T) {
	for _, v := range readVectors(t).Amount {
		mode, err := ParseRounding(v.Mode)
		require.NoError(t, err)
		got, err := Amount(MustParse(v.Quantity), MustParse(v.Rate), mode)
		require.Equal(t, v.Refused, refusal(err), "%s x %s, %s", v.Quantity, v.Rate, v.Mode)
		if v.Refused == "" {
			require.NoError(t, err)
			require.Equal(t, v.Amount, got.String(), "%s x %s, %s", v.Quantity, v.Rate, v.Mode)
		}
		// Avro delivers everything at scale 9: the scale must not matter.
		same, err := Amount(atFullScale(t, v.Quantity), atFullScale(t, v.Rate), mode)
		require.Equal(t, v.Refused, refusal(err), "%s x %s, %s", v.Quantity, v.Rate, v.Mode)
		require.Equal(t, got, same, "%s x %s, %s", v.Quantity, v.Rate, v.Mode)
	}
}

func TestSub_IsPythonsExactDifference(t *testing.T) {
	for _, v := range readVectors(t).Difference {
		left, right := MustParse(v.Left), MustParse(v.Right)
		difference := left.Sub(right)
		require.Equal(t, v.Difference, difference.String(), "%s - %s", v.Left, v.Right)
		require.Equal(t, v.InRange, difference.InRange(), "%s - %s", v.Left, v.Right)
		require.Equal(t, v.Equal, left.Equal(right), "%s = %s", v.Left, v.Right)
		require.Equal(t, v.Equal, difference.Sign() == 0, "%s - %s", v.Left, v.Right)
		_, err := difference.AppendUnscaled(nil, MaxScale)
		require.Equal(t, v.InRange, err == nil, "%s - %s", v.Left, v.Right)
	}
}

func TestFromUnscaled_TakesAnyTwosComplementInRange(t *testing.T) {
	for _, v := range readVectors(t).Unscaled {
		bytes, err := hex.DecodeString(v.Bytes)
		require.NoError(t, err)
		d, err := FromUnscaled(bytes, v.Scale)
		require.Equal(t, v.Refused, refusal(err), v.Bytes)
		switch v.Refused {
		case "":
			require.NoError(t, err)
			require.Equal(t, v.Plain, d.String(), v.Bytes)
		case "out_of_range":
			require.Equal(t, v.Negative, d.Sign() < 0, "the limit beside the error has the number's sign: %s", v.Bytes)
			require.NotZero(t, d.Sign(), v.Bytes)
		}
	}
}

func bigOf(hi, lo uint64) *big.Int {
	n := new(big.Int).SetUint64(hi)
	return n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(lo))
}

func atFullScale(t *testing.T, text string) Decimal {
	t.Helper()
	bytes, err := MustParse(text).AppendUnscaled(nil, MaxScale)
	require.NoError(t, err)
	d, err := FromUnscaled(bytes, MaxScale)
	require.NoError(t, err)
	return d
}
