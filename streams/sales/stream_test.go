package sales

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
)

func TestSettle_GoodRecordIsAPosting(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.Settle()
	require.Nil(t, failure)
	require.Equal(t, a.Envelope.ReconciliationKey, posting.Key.Hex())
	require.EqualValues(t, 6, posting.Version)
	require.Zero(t, posting.Revision)
	require.Equal(t, settle.AutoPost, posting.Outcome)
	require.Equal(t, "1.88", posting.Amount.String(), "1.875 is a tie, and goes up")
	require.False(t, posting.Claimed.Valid)
	require.False(t, posting.Difference.Valid)
	require.Equal(t, "GBP", posting.Currency)
	require.Equal(t, "C-1", posting.CorrelationID)
}

func TestSettle_ClaimDecidesBetweenAutoPostAndDispute(t *testing.T) {
	for _, c := range []struct {
		claimed, difference string
		outcome             settle.Outcome
	}{
		{"1.88", "0.000000000", settle.AutoPost},
		{"1.880000000", "0.000000000", settle.AutoPost},
		{"1.875", "-0.005000000", settle.Dispute},
		{"1.880000001", "0.000000001", settle.Dispute},
		{"0", "-1.880000000", settle.Dispute},
		{"-1.88", "-3.760000000", settle.Dispute},
	} {
		a := goodArrival(t)
		a.Envelope.Payload.ClaimedAmount = settletest.Unscaled(t, c.claimed)
		posting, failure := a.Settle()
		require.Nil(t, failure, c.claimed)
		require.Equal(t, c.outcome, posting.Outcome, c.claimed)
		require.Equal(t, c.difference, posting.Difference.Decimal.String(), c.claimed)
		require.True(t, posting.Claimed.Decimal.Equal(money.MustParse(c.claimed)), c.claimed)
	}
}

func TestWriteColumns_AreThoseOfTheTableInOrder(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.Settle()
	require.Nil(t, failure)
	row := settletest.RowOf(posting)
	require.Equal(t, []string{
		"2010-Q4", a.Envelope.ReconciliationKey, "0", "PL1-0089", "e5e8eb16e7416cc0652176411e8da48e", "GOLD", "6", "V064", "STORE-1",
		"1291191960000000", "2.5", "0.75", "null", "GBP",
	}, row.Values)

	a.Envelope.Payload.ClaimedAmount = settletest.Unscaled(t, "-7.50")
	posting, failure = a.Settle()
	require.Nil(t, failure)
	require.Equal(t, "-7.5", settletest.RowOf(posting).Values[12])

	table := New().Table()
	require.NoError(t, row.Check(table))
	require.Equal(t, "claim_period", table.Key[0], "the period comes first in the key")
	require.NoError(t, settletest.CheckQuantity(&a.Envelope, posting, table))
}

func TestSettle_DeadLetterSaysWhatIsKnown(t *testing.T) {
	undecodable := goodArrival(t)
	undecodable.Undecodable = errors.New("cut short")
	posting, failure := undecodable.Settle()
	require.Equal(t, settle.Posting{}, posting)
	require.Equal(t, "undecodable: cut short", failure.Message())

	unkeepable := goodArrival(t)
	unkeepable.Envelope.CorrelationID = "C\x00"
	posting, failure = unkeepable.Settle()
	require.Equal(t, settle.ReasonInvalidText, failure.Reason)
	require.Empty(t, posting.CorrelationID)

	misformed := goodArrival(t)
	misformed.Envelope.AgreementVersion = -1
	posting, failure = misformed.Settle()
	require.Equal(t, `invalid_agreement_version: agreement_version "-1": want a number from 1 to 2147483647`, failure.Message())
	require.Equal(t, settle.Posting{CorrelationID: "C-1"}, posting)

	refused := goodArrival(t)
	refused.Envelope.Payload.TierRate = settletest.Unscaled(t, "-0.5")
	posting, failure = refused.Settle()
	require.Equal(t, `negative_rate: tier_rate "-0.5"`, failure.Message())
	require.Equal(t, refused.Envelope.ReconciliationKey, posting.Key.Hex())
	require.NotNil(t, posting.Row, "a ledger can look for it by its key")
}

func TestParseAgreementVersion_TakesDigitsFrom1ToWhatTheColumnHolds(t *testing.T) {
	for text, want := range map[string]int32{"1": 1, "2147483647": math.MaxInt32, "08": 8} {
		version, failure := ParseAgreementVersion(text)
		require.Nil(t, failure, text)
		require.Equal(t, want, version)
	}
	for _, text := range []string{"0", "-1", "2147483648", "99999999999999999999", "1.5", "latest", "+1", " 1", "1 ", "1e3", "0x1", "1_0", "١"} {
		_, failure := ParseAgreementVersion(text)
		require.NotNil(t, failure, text)
		require.Equal(t, settle.ReasonInvalidAgreementVersion, failure.Reason, text)
	}
	_, failure := ParseAgreementVersion("")
	require.Equal(t, settle.ReasonMissingField, failure.Reason)
}

func TestRetryPolicy_IsTheDesigns(t *testing.T) {
	policy := New().RetryPolicy()
	for attempt := 1; attempt < 5; attempt++ {
		exponential := time.Duration(math.Pow(2, float64(attempt))) * time.Second
		for _, random := range []float64{0, 0.25, 1} {
			delay, again := policy.Delay(attempt, random)
			require.True(t, again)
			require.Equal(t, exponential+time.Duration(random*float64(attempt)*float64(time.Second)), delay)
		}
	}
	_, again := policy.Delay(5, 0)
	require.False(t, again)
}

func TestCheckForm_GivesTheKeyToAnEnvelopeThatHasNone(t *testing.T) {
	e := goodArrival(t).Envelope
	stated := e.ReconciliationKey
	e.ReconciliationKey = ""
	key, failure := e.CheckForm()
	require.Nil(t, failure)
	require.Equal(t, stated, key.Hex())
	want, err := reconkey.Sales("PL1-0089", "e5e8eb16e7416cc0652176411e8da48e", "GOLD", "2010-Q4")
	require.NoError(t, err)
	require.Equal(t, want, key)
}

func BenchmarkSettle(b *testing.B) {
	a := goodArrival(b)
	a.Envelope.Payload.ClaimedAmount = settletest.Unscaled(b, "1.88")
	stream := New()
	b.ReportAllocs()
	for b.Loop() {
		if _, failure := stream.Settle(&a.Record, nil, a); failure != nil {
			b.Fatal(failure.Message())
		}
	}
}
