package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func TestDemoLines_AreThoseOfTheFileWithWhatIsExpectedOfEach(t *testing.T) {
	lines, err := readDemoLines()
	require.NoError(t, err)
	figures, err := readDemoFigures()
	require.NoError(t, err)
	require.Equal(t, monthFigures(), figures)

	counts := map[settle.Outcome]int64{}
	for i, line := range lines {
		require.Equal(t, int64(i+2), line.number)
		counts[line.want.outcome]++
	}
	require.Equal(t, map[settle.Outcome]int64{
		settle.AutoPost: figures.AutoPosts, settle.Dispute: figures.Disputes,
		settle.DeadLetter: figures.DeadLetters, settle.DuplicateSkipped: figures.Duplicates,
	}, counts)
	require.Equal(t, demoLine{number: 2, vendor: "V013", invoice: "536365", want: lineVerdict{
		key:     "f88d642a60f628a00e9c17ce8e2f55745d1e1f2355840ba167bee314b6f0978d",
		outcome: settle.AutoPost, amount: amount("0.31"),
	}}, lines[0])
}

func amount(text string) money.NullDecimal {
	return money.NullDecimal{Decimal: money.MustParse(text), Valid: true}
}

// smallTie expects four lines, sent twice: posted, a copy of it, disputed, dead.
func smallTie() *tie {
	t := newTie([]demoLine{
		{number: 2, want: lineVerdict{key: "a", outcome: settle.AutoPost, amount: amount("1.50")}},
		{number: 3, want: lineVerdict{key: "a", outcome: settle.DuplicateSkipped}},
		{number: 4, want: lineVerdict{key: "b", outcome: settle.Dispute, amount: amount("2")}},
		{number: 5, want: lineVerdict{key: "c", outcome: settle.DeadLetter, reason: settle.ReasonNegativeUnits}},
	})
	t.sent("run", "first")
	t.sent("run", "second")
	return t
}

// smallFindings tie.
func smallFindings() []finding {
	return []finding{
		{place: "A", correlationID: "run:2", delivery: "first", lineVerdict: lineVerdict{key: "a", outcome: settle.AutoPost, amount: amount("1.5")}},
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
		"amount":     {func(f []finding) []finding { f[0].amount = amount("1.51"); return f }, "line 2 of delivery 1: A has amount 1.51, 1.50 is expected"},
		"no amount":  {func(f []finding) []finding { f[0].amount.Valid = false; return f }, "line 2 of delivery 1: A has amount 1.5, 1.50 is expected"},
		"difference": {func(f []finding) []finding { f[1].difference = amount("4"); return f }, "line 4 of delivery 1: B has difference 4, which isn't claimed less amount"},
		"reason": {func(f []finding) []finding { f[2].reason = settle.ReasonNegativeRate; return f },
			"line 5 of delivery 1: C has reason negative_rate, negative_units is expected"},
		"foreign run": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "other:2", delivery: "first"})
		}, "X is of no line that was sent (other:2)"},
		"foreign line": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "run:6", delivery: "first"})
		}, "X is of no line that was sent (run:6)"},
		"foreign delivery": {func(f []finding) []finding {
			return append(f, finding{place: "X", correlationID: "run:2", delivery: "third"})
		}, "X is of no line that was sent (run:2)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.want}, smallTie().differences(c.change(smallFindings())))
		})
	}
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
