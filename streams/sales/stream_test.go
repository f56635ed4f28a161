package sales

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

func TestSettle_GoodRecordIsAPosting(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.settle()
	require.Nil(t, failure)
	require.Equal(t, a.envelope().ReconciliationKey, posting.Key.Hex())
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
		a.envelope().Payload.ClaimedAmount = unscaled(t, c.claimed)
		posting, failure := a.settle()
		require.Nil(t, failure, c.claimed)
		require.Equal(t, c.outcome, posting.Outcome, c.claimed)
		require.Equal(t, c.difference, posting.Difference.Decimal.String(), c.claimed)
		require.True(t, posting.Claimed.Decimal.Equal(money.MustParse(c.claimed)), c.claimed)
	}
}

func TestSettle_IsTheSameEachTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		faults := faultsInOrder(t)
		chosen := rapid.SliceOfDistinct(rapid.IntRange(0, len(faults)-1), rapid.ID[int]).Draw(rt, "faults")
		a := goodArrival(t)
		for _, i := range chosen {
			spoil(a, faults[i])
		}
		before := *a.envelope()
		first, failure := a.settle()
		second, again := a.settle()
		require.Equal(rt, first, second)
		require.Equal(rt, failure, again)
		require.Equal(rt, before, *a.envelope(), "what was decoded isn't touched")
	})
}

// recordedRow writes down what a row writes, with the type of each column.
type recordedRow struct {
	types  []settle.ColumnType
	values []string
}

func (r *recordedRow) add(columnType settle.ColumnType, value any) {
	r.types = append(r.types, columnType)
	r.values = append(r.values, fmt.Sprint(value))
}

func (r *recordedRow) Null()                        { r.add(settle.Decimal, "null") }
func (r *recordedRow) Text(v string)                { r.add(settle.Text, v) }
func (r *recordedRow) Bytes(v []byte)               { r.add(settle.Bytes, fmt.Sprintf("%x", v)) }
func (r *recordedRow) Int32(v int32)                { r.add(settle.Int32, v) }
func (r *recordedRow) Int64(v int64)                { r.add(settle.Int64, v) }
func (r *recordedRow) Decimal(v money.Decimal)      { r.add(settle.Decimal, shown(v)) }
func (r *recordedRow) TimestampMicros(v int64)      { r.add(settle.Timestamp, v) }
func (r *recordedRow) of(p settle.Posting) []string { p.Row.WriteColumns(r); return r.values }

func TestWriteColumns_AreThoseOfTheTableInOrder(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.settle()
	require.Nil(t, failure)
	var row recordedRow
	require.Equal(t, []string{
		"2010-Q4", a.envelope().ReconciliationKey, "0", "PL1-0089", "e5e8eb16e7416cc0652176411e8da48e", "GOLD", "6", "V064", "STORE-1",
		"1291191960000000", "2.5", "0.75", "null", "GBP",
	}, row.of(posting))

	a.envelope().Payload.ClaimedAmount = unscaled(t, "-7.50")
	posting, failure = a.settle()
	require.Nil(t, failure)
	row = recordedRow{}
	require.Equal(t, "-7.5", row.of(posting)[12])

	table := New().Table()
	var types []settle.ColumnType
	names := map[string]bool{}
	for _, column := range table.Columns {
		types = append(types, column.Type)
		names[column.Name] = true
	}
	require.Equal(t, types, row.types)
	for _, name := range append(append(append([]string{table.Version, table.Claimed}, table.Key...), table.Economics...), table.Pinned...) {
		require.True(t, names[name], "%s is a column", name)
	}
	require.Equal(t, "claim_period", table.Key[0], "the period comes first in the key")
}

func TestSettle_DeadLetterSaysWhatIsKnown(t *testing.T) {
	undecodable := goodArrival(t)
	undecodable.decoder.err = errors.New("cut short")
	posting, failure := undecodable.settle()
	require.Equal(t, settle.Posting{}, posting)
	require.Equal(t, "undecodable: cut short", failure.Message())

	unkeepable := goodArrival(t)
	unkeepable.envelope().CorrelationID = "C\x00"
	posting, failure = unkeepable.settle()
	require.Equal(t, settle.ReasonInvalidText, failure.Reason)
	require.Empty(t, posting.CorrelationID)

	misformed := goodArrival(t)
	misformed.envelope().AgreementVersion = -1
	posting, failure = misformed.settle()
	require.Equal(t, `invalid_agreement_version: agreement_version "-1": want a number from 1 to 2147483647`, failure.Message())
	require.Equal(t, settle.Posting{CorrelationID: "C-1"}, posting)

	refused := goodArrival(t)
	refused.envelope().Payload.TierRate = unscaled(t, "-0.5")
	posting, failure = refused.settle()
	require.Equal(t, `negative_rate: tier_rate "-0.5"`, failure.Message())
	require.Equal(t, refused.envelope().ReconciliationKey, posting.Key.Hex())
	require.NotNil(t, posting.Row, "a ledger can look for it by its key")
}

func TestSettle_RecordKeyIsComparedByItsBytes(t *testing.T) {
	for _, key := range [][]byte{nil, {}, []byte("other"), []byte(strings.ToUpper(goodArrival(t).envelope().ReconciliationKey)), make([]byte, 32)} {
		a := goodArrival(t)
		a.record.Key = key
		_, failure := a.settle()
		require.NotNil(t, failure)
		require.Equal(t, settle.ReasonKeyMismatch, failure.Reason)
	}
}

func TestSettle_HeadersOfTieoutsOwnAreRefusedWhateverTheySay(t *testing.T) {
	for _, value := range []string{"", "original", "recalculation"} {
		a := goodArrival(t)
		withHeader(settle.HeaderRunKind, value)(a)
		_, failure := a.settle()
		require.NotNil(t, failure)
		require.Equal(t, settle.ReasonUnknownRecalculation, failure.Reason)
	}
	a := goodArrival(t)
	for _, header := range []string{settle.HeaderRunID, settle.HeaderDelivery, settle.HeaderCorrelationID, settle.HeaderTraceparent, "theirs"} {
		withHeader(header, "1")(a)
	}
	_, failure := a.settle()
	require.Nil(t, failure)
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

func TestCheckTransactionDate_TakesTheYears1To9999(t *testing.T) {
	require.True(t, time.UnixMicro(firstDateMicros).Equal(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)))
	require.True(t, time.UnixMicro(endDateMicros).Equal(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)))
	for _, micros := range []int64{firstDateMicros, -1, 0, endDateMicros - 1} {
		require.Nil(t, CheckTransactionDate(micros))
	}
	for _, micros := range []int64{math.MinInt64, firstDateMicros - 1, endDateMicros, math.MaxInt64} {
		require.Equal(t, settle.ReasonInvalidDate, CheckTransactionDate(micros).Reason)
	}
}

func TestCheckForm_GivesTheKeyToAnEnvelopeThatHasNone(t *testing.T) {
	e := *goodArrival(t).envelope()
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
	a.envelope().Payload.ClaimedAmount = unscaled(b, "1.88")
	stream := New()
	b.ReportAllocs()
	for b.Loop() {
		if _, failure := stream.Settle(&a.record, nil, &a.decoder); failure != nil {
			b.Fatal(failure.Message())
		}
	}
}
