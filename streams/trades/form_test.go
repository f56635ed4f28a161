package trades

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/settle"
)

func TestInterval_IsWrittenInOneWayOnly(t *testing.T) {
	for _, text := range []string{
		"2019-06-19T04:00:00Z", "2019-06-19T04:05:00Z", "2019-06-19T04:00:01Z", "2020-02-29T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	} {
		require.True(t, IsInterval(text), text)
	}
	for _, text := range []string{
		"", "2019-06-19", "2019-06-19T04:00:00", "2019-06-19T04:00Z", "2019-06-19 04:00:00Z", "2019-06-19t04:00:00z", "2019-06-19T04:00:00z",
		"2019-06-19T4:00:00Z", "2019-06-19T04:00:00.0Z", "2019-06-19T04:00:00.5Z", "2019-06-19T04:00:00,5Z", "2019-06-19T4:00:00.Z",
		"2019-06-19T04:00:00+00:00", "2019-06-19T00:00:00-04:00", "2019-06-19T24:00:00Z", "2019-06-19T23:59:60Z", "2019-02-29T00:00:00Z",
		"2019-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", " 2019-06-19T04:00:00Z", "2019-06-19T04:00:00Z ",
		"2019-06-19T04:00:00ZZ", "2019-06-19T04:00:0٠Z",
	} {
		require.False(t, IsInterval(text), text)
	}
}

func TestInterval_IsTheSameInEveryZoneAndSortsAsTimeDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := rapid.Custom(func(t *rapid.T) time.Time {
			return time.Unix(rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, "seconds"), 0).UTC()
		})
		a, b := moment.Draw(t, "a"), moment.Draw(t, "b")
		zone := time.FixedZone("", rapid.IntRange(-24*3600+1, 24*3600-1).Draw(t, "offset"))
		require.Equal(t, FormatInterval(a), FormatInterval(a.In(zone)))
		require.True(t, IsInterval(FormatInterval(a)))
		require.Equal(t, a.Compare(b), strings.Compare(FormatInterval(a), FormatInterval(b)))
	})
}

func TestParseVersion_TakesDigitsFrom0ToWhatTheColumnHolds(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "9223372036854775807": math.MaxInt64, "08": 8} {
		version, failure := ParseVersion(text)
		require.Nil(t, failure, text)
		require.Equal(t, want, version)
	}
	for _, text := range []string{
		"", "-1", "-0", "9223372036854775808", "99999999999999999999", "1.0", "latest", "+1", " 1", "1 ", "1e3", "0x1", "1_0", "١",
	} {
		_, failure := ParseVersion(text)
		require.NotNil(t, failure, text)
		require.Equal(t, settle.ReasonInvalidVersion, failure.Reason, text)
		require.Equal(t, "version", failure.Field)
	}
}

func TestModifiedVersion_IsNeverBelow0(t *testing.T) {
	for _, micros := range []int64{0, 1, 1_583_020_799_999_999} {
		version, failure := ModifiedVersion(micros)
		require.Nil(t, failure)
		require.Equal(t, micros, version)
	}
	_, failure := ModifiedVersion(-1)
	require.Equal(t, `invalid_version: last_modified "-1": want a number from 0 to 9223372036854775807`, failure.Message())
}

func TestCheckForm_GivesTheKeyOfTheTradeWhateverItsVersion(t *testing.T) {
	e := goodArrival(t).Envelope
	want := e.ReconciliationKey
	e.ReconciliationKey = ""
	for _, version := range []int64{0, 1, math.MaxInt64} {
		e.Version = version
		key, failure := e.CheckForm()
		require.Nil(t, failure)
		require.Equal(t, want, key.Hex())
	}
	// python3 -c 'import hashlib, json; print(hashlib.sha256(json.dumps({"trade_id": "PT1-0112", "node_id": "N.Y.C.",
	// "settlement_interval": "2019-11-03T05:00:00Z"}, sort_keys=True, separators=(",", ":")).encode()).hexdigest())'
	require.Equal(t, "25f8099bcbf929a06eadbc495d9ef7051d6d35a7d3590b152b565e1ca6deb4df", want)
}
