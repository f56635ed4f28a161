package sales

import (
	"encoding/csv"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// Outcomes as the files of expectation name them.
const (
	expectRejected  = "rejected"
	expectDuplicate = "duplicate"
)

// A plantedLine is one claim line with what must become of it.
type plantedLine struct {
	number  int
	claim   map[string]string
	outcome string
	key     string
	amount  string
	reason  settle.Reason
}

func plantedLines(t *testing.T) []plantedLine {
	t.Helper()
	claims := readCSV(t, "../../testdata/planted/sales_planted.claims.csv")
	expected := readCSV(t, "../../testdata/planted/sales_planted.expected.csv")
	require.Len(t, claims, 364)
	require.Len(t, expected, len(claims))
	lines := make([]plantedLine, len(claims))
	for i, e := range expected {
		lines[i] = plantedLine{
			number: i + 2, claim: claims[i], outcome: e["outcome"], key: e["reconciliation_key"], amount: e["amount"], reason: settle.Reason(e["reason"]),
		}
	}
	return lines
}

func readCSV(t *testing.T, path string) []map[string]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	lines, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	rows := make([]map[string]string, len(lines)-1)
	for i, line := range lines[1:] {
		rows[i] = map[string]string{}
		for column, value := range line {
			rows[i][lines[0][column]] = value
		}
	}
	return rows
}

// arrive makes the record of a line, or says why no envelope can hold it.
func (l plantedLine) arrive(t *testing.T) (*arrival, *settle.Failure) {
	t.Helper()
	a := goodArrival(t)
	e, p := a.envelope(), &a.envelope().Payload
	e.VendorID, e.ClaimPeriod, e.CorrelationID = l.claim["vendor_id"], l.claim["claim_period"], fmt.Sprintf("line-%d", l.number)
	p.StoreID, p.RetailerInvoice, p.LineItemHash = l.claim["store_id"], l.claim["retailer_invoice"], l.claim["line_item_hash"]
	p.PromoTier, p.Currency = l.claim["promo_tier"], l.claim["currency"]
	var failure *settle.Failure
	if e.AgreementVersion, failure = ParseAgreementVersion(l.claim["agreement_version"]); failure != nil {
		return nil, failure
	}
	if p.QualifyingUnits, failure = l.decimal(t, "qualifying_units"); failure != nil {
		return nil, failure
	}
	if p.TierRate, failure = l.decimal(t, "tier_rate"); failure != nil {
		return nil, failure
	}
	if l.claim["claimed_amount"] != "" {
		if p.ClaimedAmount, failure = l.decimal(t, "claimed_amount"); failure != nil {
			return nil, failure
		}
	}
	date, err := time.Parse("2006-01-02T15:04:05Z", l.claim["transaction_date"])
	if err != nil {
		return nil, settle.Structural(settle.ReasonInvalidDate, "transaction_date", l.claim["transaction_date"])
	}
	p.TransactionDate = date.UnixMicro()
	a.seal()
	return a, nil
}

func (l plantedLine) decimal(t *testing.T, column string) ([]byte, *settle.Failure) {
	t.Helper()
	text := l.claim[column]
	if failure := settle.CheckPresent([]settle.Field{{Name: column, Text: text}}); failure != nil {
		return nil, failure
	}
	decimal, failure := settle.ParseDecimal(column, text)
	if failure != nil {
		return nil, failure
	}
	bytes, err := decimal.AppendUnscaled(nil, DecimalScale)
	require.NoError(t, err)
	return bytes, nil
}

// A modelLedger is the ledger's part of the design in a map: what is posted
// once, and what a second record of the same key is.
type modelLedger map[reconkey.Key]modelRow

type modelRow struct {
	version   int64
	economics [5]string
}

func (l modelLedger) post(t *testing.T, p settle.Posting) (settle.Outcome, settle.Reason) {
	t.Helper()
	r, ok := p.Row.(*row)
	require.True(t, ok)
	next := modelRow{version: p.Version, economics: [5]string{r.envelope.VendorID, shown(r.units), shown(r.rate), "", p.Currency}}
	if r.claimed.Valid {
		next.economics[3] = shown(r.claimed.Decimal)
	}
	posted, known := l[p.Key]
	switch {
	case !known:
		l[p.Key] = next
		return p.Outcome, ""
	case posted.version != next.version:
		return settle.DeadLetter, settle.ReasonVersionConflict
	case posted.economics != next.economics:
		return settle.DeadLetter, settle.ReasonConflictingDuplicate
	}
	return settle.DuplicateSkipped, ""
}

func TestPlanted_EveryLineSettlesAsExpected(t *testing.T) {
	ledger := modelLedger{}
	for _, line := range plantedLines(t) {
		if line.outcome == expectRejected {
			continue
		}
		a, failure := line.arrive(t)
		require.Nil(t, failure, "line %d", line.number)
		posting, failure := a.settle()
		require.Equal(t, line.key, posting.Key.Hex(), "line %d", line.number)
		if failure != nil {
			require.Equal(t, settle.ClassBusiness, failure.Class, "line %d", line.number)
			require.Equal(t, line.outcome, string(settle.DeadLetter), "line %d: %s", line.number, failure.Message())
			require.Equal(t, line.reason, failure.Reason, "line %d", line.number)
			continue
		}
		outcome, reason := ledger.post(t, posting)
		if outcome == settle.DuplicateSkipped {
			outcome = expectDuplicate
		}
		require.Equal(t, line.outcome, string(outcome), "line %d", line.number)
		require.Equal(t, line.reason, reason, "line %d", line.number)
		if line.amount != "" {
			require.Equal(t, line.amount, posting.Amount.String(), "line %d", line.number)
		}
	}
	require.Len(t, ledger, 128+36, "auto-posts and disputes")
}

// TestPlanted_RejectedLinesAreRefusedForTheirReason: what no envelope can hold
// is refused while it's read; the rest is a structural dead letter of the same
// reason where it arrives at a worker all the same.
func TestPlanted_RejectedLinesAreRefusedForTheirReason(t *testing.T) {
	for _, line := range plantedLines(t) {
		if line.outcome != expectRejected {
			continue
		}
		a, failure := line.arrive(t)
		if failure == nil {
			_, failure = a.envelope().CheckForm()
			require.NotNil(t, failure, "line %d", line.number)
			_, atWorker := a.settle()
			require.Equal(t, failure, atWorker, "line %d", line.number)
			require.Equal(t, settle.ClassStructural, failure.Class, "line %d", line.number)
		}
		require.Equal(t, line.reason, failure.Reason, "line %d", line.number)
	}
}
