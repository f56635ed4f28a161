package settle

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

func TestCheckDate_TakesTheYears1To9999(t *testing.T) {
	require.True(t, time.UnixMicro(firstDateMicros).Equal(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.True(t, time.UnixMicro(endDateMicros).Equal(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)))
	for _, micros := range []int64{firstDateMicros, -1, 0, endDateMicros - 1} {
		require.Nil(t, CheckDate("sold", micros))
	}
	for _, micros := range []int64{math.MinInt64, firstDateMicros - 1, endDateMicros, math.MaxInt64} {
		failure := CheckDate("sold", micros)
		require.Equal(t, ReasonInvalidDate, failure.Reason)
		require.Equal(t, "sold", failure.Field)
	}
}
