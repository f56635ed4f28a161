package producer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/settle"
)

func TestDate_IsReadToTheMicrosecondInUTC(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2010-12-01T08:26:00Z":             "2010-12-01T08:26:00Z",
		"2010-12-01T08:26:00.5Z":           "2010-12-01T08:26:00.5Z",
		"2010-12-01T08:26:00.123456000Z":   "2010-12-01T08:26:00.123456Z",
		"2010-12-01T08:26:00.1000000000Z":  "2010-12-01T08:26:00.1Z",
		"2010-12-01T00:26:00+01:00":        "2010-11-30T23:26:00Z",
		"2010-12-01T23:26:00.000001-23:59": "2010-12-02T23:25:00.000001Z",
		"2010-12-01T08:26:00-00:00":        "2010-12-01T08:26:00Z",
		"2012-02-29T00:00:00Z":             "2012-02-29T00:00:00Z",
		"9999-12-31T23:59:59.999999Z":      "9999-12-31T23:59:59.999999Z",
	} {
		micros, failure := parseDate("date", text)
		require.Nil(t, failure, text)
		require.Equal(t, want, time.UnixMicro(micros).UTC().Format(time.RFC3339Nano), text)
	}
}

func TestDate_RefusesWhatIsNotOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"yesterday", "2010-12-01", "2010-12-01T08:26:00", "2010-12-01 08:26:00Z", "2010-12-01t08:26:00z",
		"2010-12-01T8:26:00Z", "2010-12-01T08:26Z", "2010-12-01T08:26:00,5Z", "2010-12-01T08:26:00.Z",
		"2010-12-01T08:26:00+1:00", "2010-12-01T08:26:00+0100", "2010-12-01T08:26:00+24:00", "2010-12-01T08:26:00+01:60",
		"2010-12-01T08:26:00 Z", " 2010-12-01T08:26:00Z", "2010-12-01T08:26:00Z ", "2010-12-01T08:26:00ZZ",
		"2010-02-30T00:00:00Z", "2011-02-29T00:00:00Z", "2010-13-01T00:00:00Z", "2010-12-01T24:00:00Z", "2010-12-01T23:59:60Z",
		"2010-12-01T08:26:00.1234567Z", "2010-12-01T08:26:00.0000000001Z", "2010-12-01T08:26:00.1234567+01:00",
		"+2010-12-01T08:26:00Z", "20100-12-01T08:26:00Z", "1291191960", "2010-12-01T08:26:0٠Z", "\xff",
	} {
		_, failure := parseDate("date", text)
		require.NotNil(t, failure, text)
		require.Equal(t, settle.ReasonInvalidDate, failure.Reason, text)
		require.Equal(t, "date", failure.Field)
	}
	_, failure := parseDate("date", "")
	require.Equal(t, settle.ReasonMissingField, failure.Reason)
}

func TestDate_WhatTimeWritesIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(t, "micros")
		offset := rapid.IntRange(-23*60, 23*60).Draw(t, "minutes")
		date := time.UnixMicro(micros).In(time.FixedZone("", offset*60))
		if date.Year() < 0 || date.Year() > 9999 {
			return
		}
		got, failure := parseDate("date", date.Format(time.RFC3339Nano))
		require.Nil(t, failure)
		require.Equal(t, micros, got)
	})
}

func TestInterval_IsTheSameInEveryZone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2019-06-19T04:00:00Z":      "2019-06-19T04:00:00Z",
		"2019-06-19T04:00:00+00:00": "2019-06-19T04:00:00Z",
		"2019-06-19T04:00:00-00:00": "2019-06-19T04:00:00Z",
		"2019-06-19T09:30:00+05:30": "2019-06-19T04:00:00Z",
		"2019-11-03T01:00:00-04:00": "2019-11-03T05:00:00Z",
		"2019-11-03T01:00:00-05:00": "2019-11-03T06:00:00Z",
		"2019-03-10T03:00:00-04:00": "2019-03-10T07:00:00Z",
		"2019-12-31T23:59:59-23:59": "2020-01-01T23:58:59Z",
	} {
		got, failure := ParseInterval("interval", text)
		require.Nil(t, failure, text)
		require.Equal(t, want, got, text)
	}
}

func TestInterval_WithoutAZoneOrWithAFractionIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2019-06-19T04:00:00", "2019-06-19", "2019-06-19T04:00Z", "2019-06-19 04:00:00Z", "2019-06-19t04:00:00z", "2019-13-01T00:00:00Z",
		"2019-06-19T04:00:00.5Z", "2019-06-19T04:00:00.0Z", "2019-06-19T04:00:00.000000000+01:00", "2019-06-19T04:00:00.Z", "2019-06-19T24:00:00Z",
		"2019-06-19T04:00:00 America/New_York", "2019-06-19T04:00:00EST", "1560916800", "\xff",
	} {
		_, failure := ParseInterval("interval", text)
		require.NotNil(t, failure, text)
		require.Equal(t, settle.ReasonInvalidInterval, failure.Reason, text)
		require.Equal(t, "interval", failure.Field)
	}
	_, failure := ParseInterval("interval", "")
	require.Equal(t, settle.ReasonMissingField, failure.Reason)
}
