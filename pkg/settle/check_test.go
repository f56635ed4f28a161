package settle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
)

func TestCheckTexts_WhatIsNoTextComesBeforeWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("é", MaxTextBytes/2)
	require.Nil(t, CheckTexts([]Field{{"a", long}, {"b", ""}}), "256 bytes are taken")
	failure := CheckTexts([]Field{{"a", long + "x"}, {"b", "fine"}, {"c", long + "y"}, {"d", "\x00"}})
	require.Equal(t, ReasonInvalidText, failure.Reason)
	require.Equal(t, "d", failure.Field)
	failure = CheckTexts([]Field{{"a", "fine"}, {"b", long + "x"}, {"c", long + "y"}})
	require.Equal(t, ReasonFieldTooLong, failure.Reason)
	require.Equal(t, "b", failure.Field)
}

func TestCheckMessageID_TakesULIDsOnly(t *testing.T) {
	for _, text := range []string{"01JDVQ0000000000000000000Z", "01jdvq0000000000000000000z", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"} {
		require.Nil(t, CheckMessageID(text), text)
	}
	for _, text := range []string{
		"", "01JDVQ0000000000000000000", "01JDVQ0000000000000000000ZZ", "01JDVQ0000000000000000000U", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"01JDVQ000000000000000000é", "018f6a3c-1111-7000-8000-000000000000",
	} {
		failure := CheckMessageID(text)
		require.NotNil(t, failure, text)
		require.Equal(t, ReasonInvalidMessageID, failure.Reason, text)
	}
}

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
