package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func TestDemoLines_AreThoseOfTheFileWithWhatIsExpectedOfEach(t *testing.T) {
	for _, c := range []struct {
		file    demoFile
		figures demoFigures
		first   demoLine
	}{
		{claimsOfTheDemo(), monthFigures(), demoLine{number: 2, shown: []string{"V013", "536365"}, want: lineVerdict{
			key:     "f88d642a60f628a00e9c17ce8e2f55745d1e1f2355840ba167bee314b6f0978d",
			version: 3, outcome: settle.AutoPost, amount: amount("0.31"),
		}}},
		{tradesOfTheDemo(), juneFigures(), demoLine{number: 2, shown: []string{"T-HQ-2019061904", "1"}, want: lineVerdict{
			key:     "f033ea4e434b034bfd485e17124b518db1534574e5f8a6c9bf9dbe3cedbb2634",
			version: 1, outcome: settle.AutoPost, amount: amount("-391.75"),
		}}},
	} {
		lines, err := c.file.readLines()
		require.NoError(t, err)
		figures, err := c.file.figures()
		require.NoError(t, err)
		require.Equal(t, c.figures, figures)

		counts := map[settle.Outcome]int64{}
		for i, line := range lines {
			require.Equal(t, int64(i+2), line.number)
			counts[line.want.outcome]++
		}
		for outcome, want := range map[settle.Outcome]int64{
			settle.AutoPost: figures.AutoPosts, settle.Dispute: figures.Disputes, settle.DeadLetter: figures.DeadLetters,
			settle.DuplicateSkipped: figures.Duplicates, rejected: figures.Rejected,
		} {
			require.Equal(t, want, counts[outcome], outcome)
		}
		require.Len(t, lines, int(figures.Lines))
		require.Equal(t, c.first, lines[0])
	}
}

func TestDemoLines_ATradeMustBeTheOneThatIsExpected(t *testing.T) {
	file := tradesOfTheDemo()
	values := []string{"T-HQ-2019061904", "1", "HQ", "2019-06-19T04:00:00Z"}
	want := lineVerdict{key: "98d39645e2b5107079b53a6ca2a5cda4998a3619df5af2f823ca814448f66934"}
	require.NoError(t, file.identify(values, &want))
	for i, other := range []string{"T-HQ-2019061905", "2", "HQ2", "2019-06-19T05:00:00Z"} {
		changed := slices.Clone(values)
		changed[i] = other
		want := lineVerdict{key: "98d39645e2b5107079b53a6ca2a5cda4998a3619df5af2f823ca814448f66934"}
		require.ErrorContains(t, file.identify(changed, &want), "98d39645e2b5107079b53a6ca2a5cda4998a3619df5af2f823ca814448f66934 is expected")
	}
}

func amount(text string) money.NullDecimal {
	return money.NullDecimal{Decimal: money.MustParse(text), Valid: true}
}

// smallTie expects five lines, sent twice: posted, a copy of it, disputed, dead,
// rejected.
func smallTie() *tie {
	t := newTie([]demoLine{
		{number: 2, want: lineVerdict{key: "a", version: 7, outcome: settle.AutoPost, amount: amount("1.50")}},
		{number: 3, want: lineVerdict{key: "a", outcome: settle.DuplicateSkipped}},
		{number: 4, want: lineVerdict{key: "b", outcome: settle.Dispute, amount: amount("2")}},
		{number: 5, want: lineVerdict{key: "c", version: 7, outcome: settle.DeadLetter, reason: settle.ReasonNegativeUnits}},
		{number: 6, want: lineVerdict{outcome: rejected, reason: settle.ReasonNotADecimal}},
	})
	t.sent("run", "first")
	t.sent("run", "second")
	return t
}

// smallFindings tie.
func smallFindings() []finding {
	return []finding{
		{place: "A", correlationID: "run:2", delivery: "first", lineVerdict: lineVerdict{key: "a", version: 7, outcome: settle.AutoPost, amount: amount("1.5")}},
		{place: "B", correlationID: "run:4", delivery: "first", lineVerdict: lineVerdict{key: "b", outcome: settle.Dispute, amount: amount("2.00")}, claimed: amount("5"), difference: amount("3.000")},
		{place: "C", correlationID: "run:5", delivery: "first", lineVerdict: lineVerdict{key: "c", outcome: settle.DeadLetter, reason: settle.ReasonNegativeUnits}},
		{place: "D", correlationID: "run:5", delivery: "second", lineVerdict: lineVerdict{key: "c", outcome: settle.DeadLetter, reason: settle.ReasonNegativeUnits}},
	}
}

func TestTie_FindsWhateverIsNotAsExpected(t *testing.T) {
	require.Empty(t, smallTie().differences(smallFindings()))
	for name, c := range map[string]struct {
		change func(f []finding) []finding
		want   string
	}{
		"missing posting":     {func(f []finding) []finding { return f[1:] }, "line 2 of delivery 1: nothing is found, auto_post is expected"},
		"missing dead letter": {func(f []finding) []finding { return f[:3] }, "line 5 of delivery 2: nothing is found, dead_letter is expected"},
		"twice":               {func(f []finding) []finding { return append(f, f[0]) }, "line 2 is there twice: A and A"},
		"posted again": {func(f []finding) []finding {
			again := f[0]
			again.delivery = "second"
			return append(f, again)
		}, "line 2 of delivery 2: A is auto_post, duplicate_skipped is expected"},
		"duplicate posted": {func(f []finding) []finding {
			again := f[0]
			again.correlationID = "run:3"
			return append(f, again)
		}, "line 3 of delivery 1: A is auto_post, duplicate_skipped is expected"},
		"outcome":    {func(f []finding) []finding { f[0].outcome = settle.Dispute; return f }, "line 2 of delivery 1: A is dispute, auto_post is expected"},
		"key":        {func(f []finding) []finding { f[1].key = "a"; return f }, "line 4 of delivery 1: B has key a, b is expected"},
		"version":    {func(f []finding) []finding { f[0].version = 6; return f }, "line 2 of delivery 1: A has version 6, 7 is expected"},
		"amount":     {func(f []finding) []finding { f[0].amount = amount("1.51"); return f }, "line 2 of delivery 1: A has amount 1.51, 1.50 is expected"},
		"no amount":  {func(f []finding) []finding { f[0].amount.Valid = false; return f }, "line 2 of delivery 1: A has amount 1.5, 1.50 is expected"},
		"difference": {func(f []finding) []finding { f[1].difference = amount("4"); return f }, "line 4 of delivery 1: B has difference 4, which isn't claimed less amount"},
		"reason": {func(f []finding) []finding { f[2].reason = settle.ReasonNegativeRate; return f },
			"line 5 of delivery 1: C has reason negative_rate, negative_units is expected"},
		"foreign run": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "other:2", delivery: "first"})
		}, "X is of no line that was sent (other:2)"},
		"foreign line": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "run:7", delivery: "first"})
		}, "X is of no line that was sent (run:7)"},
		"rejected line": {func(f []finding) []finding {
			again := f[0]
			again.correlationID = "run:6"
			return append(f, again)
		}, "line 6 of delivery 1: A is auto_post, rejected is expected"},
		"foreign delivery": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "run:2", delivery: "third"})
		}, "X is of no line that was sent (run:2)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.want}, smallTie().differences(c.change(smallFindings())))
		})
	}
}

func TestTie_FindsWhateverIsRejectedOtherThanExpected(t *testing.T) {
	for want, reasons := range map[string]map[int64]settle.Reason{
		"": {6: settle.ReasonNotADecimal},
		`line 6 has reason "", "not_a_decimal" is expected`:              {},
		`line 6 has reason "missing_field", "not_a_decimal" is expected`: {6: settle.ReasonMissingField},
		`line 2 has reason "missing_field", "" is expected`:              {2: settle.ReasonMissingField, 6: settle.ReasonNotADecimal},
	} {
		require.Equal(t, want, strings.Join(smallTie().rejectDifferences(reasons), "; "))
	}
}

func TestProse_FitsItsColumns(t *testing.T) {
	var b strings.Builder
	writeProse(&b, "%s%s end", strings.Repeat("é ", 50), strings.Repeat("x", 120))
	require.Equal(t, strings.Repeat("é ", 49)+"é\n"+strings.Repeat("x", 120)+"\nend\n", b.String())
}

func TestFigures_AreShownForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 123456: "123,456"} {
		require.Equal(t, want, grouped(n))
	}
	require.Equal(t, "-36,864.04", groupedAmount("-36864.04"))
	for text, want := range map[string]string{"0.310000000": "0.31", "1.5": "1.50", "3": "3.00", "-0.125": "-0.125", "100": "100.00"} {
		require.Equal(t, want, inCents(money.MustParse(text)))
	}
	require.Zero(t, rate(10, 0))
}
