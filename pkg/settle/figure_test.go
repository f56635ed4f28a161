package settle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
)

func TestParseDecimal_NamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]Failure{
		"1e3":                            {Class: ClassStructural, Reason: ReasonNotADecimal},
		"":                               {Class: ClassStructural, Reason: ReasonNotADecimal},
		"0.0000000001":                   {Class: ClassStructural, Reason: ReasonTooManyFractionDigits},
		"999999999999999999999999999999": {Class: ClassBusiness, Reason: ReasonOutOfRange},
	} {
		_, failure := ParseDecimal("tier_rate", text)
		require.NotNil(t, failure, text)
		require.Equal(t, want.Class, failure.Class, text)
		require.Equal(t, want.Reason, failure.Reason, text)
		require.Equal(t, "tier_rate", failure.Field, text)
		require.Equal(t, text, failure.Value, text)
	}
	d, failure := ParseDecimal("tier_rate", "-1.50")
	require.Nil(t, failure)
	require.Equal(t, money.MustParse("-1.50"), d)
}

func TestDecodeDecimal_TellsNonsenseFromTooMuch(t *testing.T) {
	_, failure := DecodeDecimal("mwh", nil, 9)
	require.Equal(t, ReasonUndecodable, failure.Reason)
	require.Equal(t, ClassStructural, failure.Class)
	d, failure := DecodeDecimal("mwh", append([]byte{0xfe}, make([]byte, 16)...), 9)
	require.Equal(t, ReasonOutOfRange, failure.Reason)
	require.Equal(t, ClassBusiness, failure.Class)
	require.Negative(t, d.Sign())
	d, failure = DecodeDecimal("mwh", []byte{0x05}, 0)
	require.Nil(t, failure)
	require.Equal(t, "5", d.String())
}

func TestFigureReader_KeepsTheFirstOfEachKindOfFailure(t *testing.T) {
	var figures FigureReader
	var quantity, rate money.Decimal
	var claimed, absent money.NullDecimal
	huge := append([]byte{1}, make([]byte, 16)...)
	figures.Read("quantity", huge, &quantity)
	figures.ReadNullable("claimed", huge, &claimed)
	figures.ReadNullable("absent", nil, &absent)
	figures.Read("rate", []byte{5}, &rate)
	beyond, failure := figures.Result()
	require.Nil(t, failure)
	require.Equal(t, "quantity", beyond.Field)
	require.Positive(t, quantity.Sign())
	require.True(t, claimed.Valid)
	require.False(t, absent.Valid)
	require.True(t, rate.Equal(money.MustParse("0.000000005")))

	figures.Read("rate", nil, &rate)
	figures.ReadNullable("claimed", []byte{}, &claimed)
	_, failure = figures.Result()
	require.Equal(t, "rate", failure.Field, "what isn't a number is found first")
}

func TestProduct_ThatCannotBePostedSaysOfWhat(t *testing.T) {
	amount, failure := Product(money.MustParse("-0.500000000"), money.MustParse("46.45"), money.HalfEven)
	require.Nil(t, failure)
	require.Equal(t, "-23.22", amount.String())
	_, failure = Product(money.MustParse("99999999999999999.000000000"), money.MustParse("-1000.0"), money.HalfEven)
	require.Equal(t, Failure{
		Class: ClassBusiness, Reason: ReasonOutOfRange, Field: "amount", Value: "99999999999999999 x -1000",
		Detail: "out of range: the amount doesn't fit numeric(18,2)",
	}, *failure)
}
