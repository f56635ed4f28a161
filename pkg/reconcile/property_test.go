package reconcile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/money"
)

// Names that sort in one way by their bytes, and in others by any language.
func drawTrade(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"T-1", "T1", "t-1", "é1"}).Draw(rt, "trade")
}

func drawNode(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"N.Y.C.", "N Y C", "ñ"}).Draw(rt, "node")
}

// drawKey draws one of few keys of a day, so that they meet.
func drawKey(rt *rapid.T, day time.Time) naiveKey {
	hour := time.Duration(rapid.IntRange(0, 1).Draw(rt, "hour")) * time.Hour
	return naiveKey{day.Add(hour).Format(time.RFC3339), drawTrade(rt), drawNode(rt)}
}

func drawVersions(rt *rapid.T, day time.Time) (versions []naiveVersion) {
	seen := map[string]bool{}
	for range rapid.IntRange(0, 30).Draw(rt, "versions") {
		v := naiveVersion{
			naiveKey: drawKey(rt, day), version: rapid.Int64Range(0, 3).Draw(rt, "version"), revision: rapid.Int32Range(0, 1).Draw(rt, "revision"),
			mwh: rapid.Int64Range(-12, 12).Draw(rt, "mwh"), price: rapid.Int64Range(-12, 12).Draw(rt, "price"),
		}
		id := fmt.Sprint(v.naiveKey, v.version, v.revision)
		if !seen[id] {
			versions = append(versions, v)
		}
		seen[id] = true
	}
	return versions
}

// drawLines draws lines near what the ledger has.
func drawLines(rt *rapid.T, day time.Time, versions []naiveVersion) (lines []naiveLine) {
	for range rapid.IntRange(0, 20).Draw(rt, "lines") {
		line := naiveLine{naiveKey: drawKey(rt, day), amount: rapid.Int64Range(-15, 15).Draw(rt, "amount")}
		if len(versions) > 0 && rapid.IntRange(0, 4).Draw(rt, "near") > 0 {
			v := rapid.SampledFrom(versions).Draw(rt, "of")
			line.naiveKey = v.naiveKey
			line.amount = v.amount() + rapid.SampledFrom([]int64{0, 0, 0, 1, -1, 2}).Draw(rt, "off by")
			if rapid.Bool().Draw(rt, "states mwh") {
				line.mwh = new(v.mwh + rapid.SampledFrom([]int64{0, 0, 1}).Draw(rt, "other mwh"))
			}
			if rapid.Bool().Draw(rt, "states price") {
				line.price = new(v.price + rapid.SampledFrom([]int64{0, 0, 1}).Draw(rt, "other price"))
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// fixed writes a whole number of the last digits.
func fixed(n int64, digits int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	unit := int64(1)
	for range digits {
		unit *= 10
	}
	return fmt.Sprintf("%s%d.%0*d", sign, n/unit, digits, n%unit)
}

func optional(n *int64, digits int) string {
	if n == nil {
		return ""
	}
	return fixed(*n, digits)
}

func TestRun_SaysWhatANaiveComparisonSays(t *testing.T) {
	b := newBook(t)
	path := filepath.Join(t.TempDir(), "statement.csv")
	day := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC) // one for each try: a ledger forgets nothing
	rapid.Check(t, func(rt *rapid.T) {
		day = day.AddDate(0, 0, 1)
		versions := drawVersions(rt, day)
		lines := drawLines(rt, day, versions)
		byNode := rapid.Bool().Draw(rt, "by node")
		tolerance := rapid.Int64Range(0, 2).Draw(rt, "tolerance")
		var rows []posted
		for _, v := range versions {
			rows = append(rows, posted{v.interval, v.trade, v.node, v.version, v.revision, fixed(v.mwh, 1), fixed(v.price, 2), ""})
		}
		b.post(rows...)
		writeNaive(t, path, lines, byNode)
		s, err := OpenStatement(t.Context(), path, nil)
		require.NoError(rt, err)
		defer s.Close()

		got := map[naiveKey]naiveVerdict{}
		scope := Scope{From: day.Format(time.RFC3339), To: day.AddDate(0, 0, 1).Format(time.RFC3339)}
		report, err := Run(t.Context(), b, s, Options{
			Scope: scope, Tolerance: money.MustParse(fixed(tolerance, 2)),
			Each: func(f *Finding) error {
				key := naiveKey{f.SettlementInterval, f.TradeID, f.NodeID}
				if !byNode {
					key.node = ""
				}
				got[key] = verdictOf(f)
				return nil
			},
		})
		want := naiveCompare(versions, lines, byNode, tolerance)
		if len(want) == 0 {
			require.ErrorIs(rt, err, ErrNothingCompared)
			return
		}
		require.NoError(rt, err)
		var all naiveVerdict
		trades := int64(len(want))
		for key, verdict := range want {
			all.statement, all.ledger = all.statement+verdict.statement, all.ledger+verdict.ledger
			if verdict.class == Equal {
				delete(want, key)
			}
		}
		require.Equal(rt, want, got)
		require.Equal(rt, trades, report.All.Trades)
		require.Equal(rt, fixed(all.statement, 2), report.All.Statement.AmountString())
		require.Equal(rt, fixed(all.ledger, 2), report.All.Ledger.AmountString())
		requireTotals(rt, report)
	})
}

func writeNaive(t *testing.T, path string, lines []naiveLine, byNode bool) {
	var text strings.Builder
	text.WriteString("trade_id,settlement_interval,amount,mwh,price")
	if byNode {
		text.WriteString(",node_id")
	}
	text.WriteString("\n")
	for _, l := range lines {
		fmt.Fprintf(&text, "%s,%s,%s,%s,%s", l.trade, l.interval, fixed(l.amount, 2), optional(l.mwh, 1), optional(l.price, 2))
		if byNode {
			text.WriteString("," + l.node)
		}
		text.WriteString("\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

func verdictOf(f *Finding) naiveVerdict {
	v := naiveVerdict{class: f.Class, statement: cents(f.Statement.Decimal), ledger: cents(f.Ledger.Decimal)}
	if f.Stale != nil {
		v.explanation = fmt.Sprint(f.Stale.Number, f.Stale.Revision)
	}
	var roundings []string
	for _, rounding := range f.Roundings {
		roundings = append(roundings, rounding.String())
	}
	if len(roundings) > 0 {
		v.explanation = strings.Join(roundings, " or ")
	}
	return v
}

func cents(d money.Decimal) int64 {
	n, err := strconv.ParseInt(strings.Replace(d.AmountString(), ".", "", 1), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
