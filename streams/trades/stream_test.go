package trades

import (
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
)

func TestSettle_GoodRecordIsAPosting(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.Settle()
	require.Nil(t, failure)
	require.Equal(t, a.Envelope.ReconciliationKey, posting.Key.Hex())
	require.EqualValues(t, 1, posting.Version)
	require.Zero(t, posting.Revision)
	require.Equal(t, settle.AutoPost, posting.Outcome)
	require.Equal(t, "265.03", posting.Amount.String())
	require.False(t, posting.Claimed.Valid)
	require.Equal(t, "USD", posting.Currency)
	require.Equal(t, "C-1", posting.CorrelationID)
}

func TestSettle_RoundsTiesToTheEvenCent(t *testing.T) {
	for _, c := range []struct{ mwh, price, amount string }{
		{"0.1", "48.25", "4.82"},
		{"0.1", "48.35", "4.84"},
		{"-0.5", "46.45", "-23.22"},
		{"0.5", "-46.47", "-23.24"},
		{"1", "0.015", "0.02"},
		{"1", "0.005", "0.00"},
		{"-1", "0.005", "0.00"},
		{"-12.5", "-3.999", "49.99"},
		{"0", "17.35", "0.00"},
	} {
		a := goodArrival(t)
		a.Envelope.MWh, a.Envelope.Price = settletest.Unscaled(t, c.mwh), settletest.Unscaled(t, c.price)
		posting, failure := a.Settle()
		require.Nil(t, failure, "%s x %s", c.mwh, c.price)
		require.Equal(t, c.amount, posting.Amount.String(), "%s x %s", c.mwh, c.price)
	}
}

// In New York these two are the same hour of the same day: 01:00, before the
// clocks are set back and after.
func TestSettle_BothRepeatedHoursOfAutumnPost(t *testing.T) {
	ledger := settletest.NewLedger(New().Table())
	for _, interval := range []string{"2019-11-03T05:00:00Z", "2019-11-03T06:00:00Z"} {
		a := goodArrival(t)
		a.Envelope.SettlementInterval = interval
		require.NoError(t, a.Seal())
		posting, failure := a.Settle()
		require.Nil(t, failure)
		outcome, _ := ledger.Post(posting)
		require.Equal(t, settle.AutoPost, outcome, interval)
	}
	require.Equal(t, 2, ledger.Rows())
}

// What says how and when a record came is no part of what it is.
func TestSettle_RunDeliveryAndReceiptNeverChangeAKey(t *testing.T) {
	want := settletest.RowOf(settled(t, goodArrival(t))).Values[:5]
	rapid.Check(t, func(rt *rapid.T) {
		a := goodArrival(t)
		text := rapid.StringN(1, 60, settle.MaxTextBytes)
		id := ulid.ULID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "message id"))
		a.Envelope.MessageID = id.String()
		a.Envelope.CorrelationID = rapid.StringMatching(`[0-9A-Za-z:.-]{1,60}`).Draw(rt, "correlation id")
		a.Envelope.LastModified = new(rapid.Int64Range(0, 1<<50).Draw(rt, "last modified"))
		a.Envelope.MarketRun, a.Envelope.MeterID = new("RT"), new("M-1")
		a.Record.Coordinates = settle.Coordinates{Partition: rapid.Int32().Draw(rt, "partition"), Offset: rapid.Int64().Draw(rt, "offset")}
		a.Record.Timestamp = time.UnixMilli(rapid.Int64().Draw(rt, "timestamp"))
		a.Record.Topic = text.Draw(rt, "topic")
		for _, header := range []string{settle.HeaderRunID, settle.HeaderDelivery, settle.HeaderCorrelationID, settle.HeaderTraceparent} {
			a.Record.Headers = append(a.Record.Headers, settle.Header{Key: header, Value: []byte(text.Draw(rt, header))})
		}
		require.NoError(rt, a.Seal())
		posting, failure := a.Settle()
		require.Nil(rt, failure)
		require.Equal(rt, want, settletest.RowOf(posting).Values[:5], "interval, keys, version and revision")
	})
}

func settled(t *testing.T, a *arrival) settle.Posting {
	t.Helper()
	posting, failure := a.Settle()
	require.Nil(t, failure)
	return posting
}

func TestWriteColumns_AreThoseOfTheTableInOrder(t *testing.T) {
	a := goodArrival(t)
	row := settletest.RowOf(settled(t, a))
	version := reconkey.TradeVersion("N.Y.C.", "2019-11-03T05:00:00Z", "PT1-0112", 1)
	require.Equal(t, []string{
		"2019-11-03T05:00:00Z", a.Envelope.ReconciliationKey, "1", "0", version.Hex(), "PT1-0112", "N.Y.C.", "10.73", "24.7", "USD",
		settletest.Null, settletest.Null, settletest.Null,
	}, row.Values)
	require.NoError(t, row.Check(New().Table()))
	require.Equal(t, "settlement_interval", New().Table().Key[0], "the period comes first in the key")
	require.NoError(t, settletest.CheckQuantity(&a.Envelope, settled(t, a), New().Table()))

	a.Envelope.MarketRun, a.Envelope.MeterID, a.Envelope.LastModified = new("RT"), new(""), new(int64(-7))
	row = settletest.RowOf(settled(t, a))
	require.Equal(t, []string{"RT", "", "-7"}, row.Values[10:])
	require.NoError(t, row.Check(New().Table()))
}

func TestRetryPolicy_IsFourAttemptsWith1And2And4SecondsBetween(t *testing.T) {
	policy := New().RetryPolicy()
	for attempt, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		delay, again := policy.Delay(attempt+1, 1)
		require.True(t, again)
		require.Equal(t, want, delay)
	}
	_, again := policy.Delay(4, 0)
	require.False(t, again)
}

func BenchmarkSettle(b *testing.B) {
	a := goodArrival(b)
	a.Envelope.MarketRun = new("RT")
	b.ReportAllocs()
	for b.Loop() {
		if _, failure := a.Settle(); failure != nil {
			b.Fatal(failure.Message())
		}
	}
}
