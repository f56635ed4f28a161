package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/streams/findings"
)

const (
	noon = "2019-06-01T12:00:00Z"
	one  = "2019-06-01T13:00:00Z"
)

// plantedLedger has a trade for each class.
func plantedLedger() []posted {
	return []posted{
		{noon, "EQUAL", "CAPITL", 1, 0, "10", "2.50", ""},
		{noon, "EQUAL", "HUD VL", 1, 0, "4", "-2.50", ""}, // the same trade on another node
		{noon, "NEWEST", "CAPITL", 1, 0, "1", "5", ""},
		{noon, "NEWEST", "CAPITL", 3, 0, "1", "7", ""},
		{noon, "NEWEST", "CAPITL", 2, 0, "1", "6", ""}, // arrived later, and is older
		{noon, "REVISED", "CAPITL", 1, 0, "1", "5", ""},
		{noon, "REVISED", "CAPITL", 1, 1, "1", "5.50", ""},
		{noon, "TIE", "CAPITL", 1, 0, "0.1", "48.25", ""}, // 4.825: half even 4.82
		{noon, "CUT", "CAPITL", 1, 0, "1", "4.827", ""},   // half even 4.83
		{noon, "QUANTITY", "CAPITL", 1, 0, "10", "3", ""},
		{noon, "PRICE", "CAPITL", 1, 0, "10", "3", ""},
		{noon, "BOTH", "CAPITL", 1, 0, "10", "3", ""},
		{noon, "STALE", "CAPITL", 1, 0, "10", "3", ""},
		{noon, "STALE", "CAPITL", 2, 0, "10", "3.10", ""},
		{noon, "STALE", "CAPITL", 3, 0, "10", "3.20", ""},
		{noon, "STALE REVISION", "CAPITL", 2, 0, "10", "3", ""},
		{noon, "STALE REVISION", "CAPITL", 2, 1, "10", "3.10", ""},
		{noon, "STALE REVISION", "CAPITL", 2, 2, "10", "3.20", ""},
		{noon, "ONLY LEDGER", "CAPITL", 4, 0, "10", "3", ""},
		{noon, "TWICE", "CAPITL", 1, 0, "10", "3", ""},
		{noon, "AMOUNT", "CAPITL", 1, 0, "10", "3", ""},
		{one, "AMOUNT", "CAPITL", 1, 0, "10", "3", ""},
	}
}

func TestRun_FindsEachClassOfDifferenceAndNothingElse(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	s := statement(t, nil,
		"node_id,trade_id,amount,settlement_interval,mwh,price,note",
		"CAPITL,TWICE,30,"+noon+",,,",
		"CAPITL,EQUAL,25.000,2019-06-01T08:00:00-04:00,10.0,2.5,another zone and other zeros",
		"HUD VL,EQUAL,-10,"+noon+",,,",
		"CAPITL,NEWEST,7,"+noon+",1,7,",
		"CAPITL,REVISED,5.5,"+noon+",,,",
		"CAPITL,TIE,4.83,"+noon+",0.1,48.25,",
		"CAPITL,CUT,4.82,"+noon+",,,",
		"CAPITL,QUANTITY,33.00,"+noon+",11,3,",
		"CAPITL,PRICE,33.00,"+noon+",10,3.3,",
		"CAPITL,BOTH,30.00,"+noon+",15,2,",
		"CAPITL,STALE,31.00,"+noon+",10,3.1,",
		"CAPITL,STALE REVISION,30,"+noon+",,,",
		"CAPITL,ONLY STATEMENT,-12.5,"+noon+",,,",
		"CAPITL,TWICE,30.00,"+noon+",,,",
		"CAPITL,AMOUNT,30.01,"+noon+",,,",
		"CAPITL,AMOUNT,30,"+one+",,,",
	)
	report, words := b.compare(s, Options{})
	require.Equal(t, []string{
		"amount | AMOUNT at CAPITL, " + noon + ": the statement has 30.01 (line 16), the ledger 30.00 in version 1: 0.01 more",
		"quantity | BOTH at CAPITL, " + noon + ": the statement has 30.00 (line 11), the ledger 30.00 in version 1: the same; its mwh is 15, the ledger's is 10, and its price is 2, the ledger's is 3",
		"rounding | CUT at CAPITL, " + noon + ": the statement has 4.82 (line 8), the ledger 4.83 in version 1: 0.01 less; it is 1 x 4.827 rounded down or floor or 05up",
		"missing_in_statement | ONLY LEDGER at CAPITL, " + noon + ": the ledger has 30.00 in version 4, the statement has no such line",
		"missing_in_ledger | ONLY STATEMENT at CAPITL, " + noon + ": the statement has -12.50 (line 14), the ledger has no such trade",
		"price | PRICE at CAPITL, " + noon + ": the statement has 33.00 (line 10), the ledger 30.00 in version 1: 3.00 more; its price is 3.3, the ledger's is 3",
		"quantity | QUANTITY at CAPITL, " + noon + ": the statement has 33.00 (line 9), the ledger 30.00 in version 1: 3.00 more; its mwh is 11, the ledger's is 10",
		"stale_version | STALE at CAPITL, " + noon + ": the statement has 31.00 (line 12), the ledger 32.00 in version 3: 1.00 less; it is that of version 2",
		"stale_version | STALE REVISION at CAPITL, " + noon + ": the statement has 30.00 (line 13), the ledger 32.00 in version 2, revision 2: 2.00 less; it is that of version 2",
		"rounding | TIE at CAPITL, " + noon + ": the statement has 4.83 (line 7), the ledger 4.82 in version 1: 0.01 more; it is 0.1 x 48.25 rounded half_up or up or ceiling",
		"duplicate_in_statement | TWICE at CAPITL, " + noon + ": the statement has it 2 times (lines 2, 15), 60.00 in all; the ledger has 30.00 in version 1: 30.00 more",
	}, words)
	require.EqualValues(t, 16, report.Lines)
	require.Zero(t, report.OutsideScope)
	require.Equal(t, []string{"note"}, report.UnusedColumns)
	require.Equal(t, []string{noon, one}, []string{report.First, report.Last})
	require.EqualValues(t, 16, report.All.Trades)
	require.Equal(t, "301.66", report.All.Statement.AmountString())
	require.Equal(t, "311.15", report.All.Ledger.AmountString())
	require.Equal(t, "-9.49", report.All.Difference.AmountString())
	requireTotals(t, report)
}

// requireTotals holds the totals of a report against one another.
func requireTotals(t require.TestingT, report *Report) {
	var classes, nodes Total
	var ofNodes, ofClasses int64
	sum := func(into *Total, from Total) {
		into.Trades += from.Trades
		into.Statement, into.Ledger = into.Statement.Add(from.Statement), into.Ledger.Add(from.Ledger)
		into.Difference = into.Difference.Add(from.Difference)
	}
	for _, total := range report.ByClass {
		sum(&classes, total.Total)
		if total.Class != Equal {
			ofClasses += total.Trades
		}
	}
	for _, total := range report.ByNode {
		sum(&nodes, total.Total)
		ofNodes += total.Findings
	}
	for _, total := range []Total{classes, nodes} {
		require.Equal(t, report.All.Trades, total.Trades)
		require.True(t, report.All.Statement.Equal(total.Statement))
		require.True(t, report.All.Ledger.Equal(total.Ledger))
		require.True(t, report.All.Difference.Equal(total.Difference))
		require.True(t, total.Difference.Equal(total.Statement.Sub(total.Ledger)))
	}
	require.Equal(t, report.Findings, ofClasses)
	require.Equal(t, report.Findings, ofNodes)
}

func TestRun_TheToleranceSaysWhatIsNoDifferenceAndExplainsNone(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	lines := []string{
		"node_id,trade_id,settlement_interval,amount,mwh",
		"CAPITL,AMOUNT," + noon + ",30.05,",  // within
		"CAPITL,AMOUNT," + one + ",30.051,",  // not within
		"CAPITL,TIE," + noon + ",4.83,",      // another rounding, and within
		"CAPITL,QUANTITY," + noon + ",30,11", // a quantity isn't an amount
		"CAPITL,STALE," + noon + ",31.01,",   // near that of an older version, which explains nothing
		"CAPITL,NEW," + noon + ",0.00,",      // missing is missing
	}
	_, words := b.compare(statement(t, nil, lines...), Options{Tolerance: money.MustParse("0.05"), Scope: Scope{Nodes: []string{"CAPITL"}}})
	found := map[findings.Class][]string{}
	for _, w := range words {
		class, trade, _ := cutWords(w)
		if class != findings.MissingInStatement {
			found[class] = append(found[class], trade)
		}
	}
	require.Equal(t, map[findings.Class][]string{
		findings.Amount: {"STALE", "AMOUNT"}, findings.Quantity: {"QUANTITY"}, findings.MissingInLedger: {"NEW"},
	}, found)
}

func TestRun_TheScopeBoundsBothSides(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	lines := []string{
		"node_id,trade_id,settlement_interval,amount",
		"CAPITL,AMOUNT," + noon + ",29",
		"CAPITL,AMOUNT," + one + ",29",
		"HUD VL,EQUAL," + noon + ",-10",
		"HUD VL,NEW," + one + ",1",
		"CAPITL,NEW,2019-06-01T14:00:00Z,1",
	}
	for name, c := range map[string]struct {
		scope   Scope
		outside int64
		want    []string
	}{
		"from":        {Scope{From: one}, 2, []string{"amount AMOUNT " + one, "missing_in_ledger NEW " + one, "missing_in_ledger NEW 2019-06-01T14:00:00Z"}},
		"from and to": {Scope{From: one, To: "2019-06-01T14:00:00Z"}, 3, []string{"amount AMOUNT " + one, "missing_in_ledger NEW " + one}},
		"a node":      {Scope{Nodes: []string{"HUD VL"}}, 3, []string{"missing_in_ledger NEW " + one}},
		"nodes":       {Scope{From: one, Nodes: []string{"HUD VL", "CAPITL"}}, 2, []string{"amount AMOUNT " + one, "missing_in_ledger NEW " + one, "missing_in_ledger NEW 2019-06-01T14:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			report, words := b.compare(statement(t, nil, lines...), Options{Scope: c.scope})
			require.Equal(t, c.outside, report.OutsideScope)
			var got []string
			for _, w := range words {
				class, trade, interval := cutWords(w)
				got = append(got, string(class)+" "+trade+" "+interval)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestRun_WithoutNodesALineStandsBesideAllNodesOfItsTrade(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	b.post(
		posted{one, "SPLIT", "CAPITL", 1, 0, "1", "10", ""},
		posted{one, "SPLIT", "CAPITL", 2, 0, "1", "11", ""},
		posted{one, "SPLIT", "HUD VL", 5, 0, "1", "-1", ""},
		posted{one, "SPLIT", "WEST", 1, 0, "1", "0.50", ""},
	)
	s := statement(t, map[string]string{"trade_id": "Trade", "settlement_interval": "Start", "amount": "Charge"},
		"Start,Trade,Charge",
		one+",SPLIT,10.51",
		noon+",EQUAL,15",
		noon+",STALE,30",
		noon+",TIE,4.83",
		noon+",NEW,3",
	)
	report, words := b.compare(s, Options{Scope: Scope{}})
	var kept []string
	for _, w := range words {
		if class, _, _ := cutWords(w); class != findings.MissingInStatement {
			kept = append(kept, w)
		}
	}
	require.Equal(t, []string{
		"missing_in_ledger | NEW, " + noon + ": the statement has 3.00 (line 6), the ledger has no such trade",
		"stale_version | STALE at CAPITL, " + noon + ": the statement has 30.00 (line 4), the ledger 32.00 in version 3: 2.00 less; it is that of version 1",
		"rounding | TIE at CAPITL, " + noon + ": the statement has 4.83 (line 5), the ledger 4.82 in version 1: 0.01 more; it is 0.1 x 48.25 rounded half_up or up or ceiling",
		"amount | SPLIT, " + one + ": the statement has 10.51 (line 2), the ledger 10.50 over 3 nodes: 0.01 more",
	}, kept)
	require.Empty(t, report.ByNode[0].Node, "what has no node, or several")
	requireTotals(t, report)

	_, err := Run(t.Context(), b, s, Options{Scope: Scope{Nodes: []string{"CAPITL"}}})
	require.ErrorIs(t, err, ErrNoNodes)
}

func TestRun_SaysWhereAScopeMayBeForgotten(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	report, _ := b.compare(statement(t, nil, "trade_id,settlement_interval,amount", "AMOUNT,"+one+",30.00"), Options{})
	require.Equal(t, report.Findings, report.MissingBeyond)
	require.Positive(t, report.MissingBeyond)
	require.Equal(t, one, report.First)
	report, words := b.compare(statement(t, nil, "trade_id,settlement_interval,amount", "AMOUNT,"+one+",30.00"), Options{Scope: Scope{From: one}})
	require.Empty(t, words)
	require.Zero(t, report.MissingBeyond)
	require.EqualValues(t, 1, report.All.Trades)

	_, err := Run(t.Context(), b, statement(t, nil, "trade_id,settlement_interval,amount"), Options{Scope: Scope{From: "2020-01-01T00:00:00Z"}})
	require.ErrorIs(t, err, ErrNothingCompared)
}

func TestRun_AnErrorOfWhoeverIsToldEndsItAtOnce(t *testing.T) {
	b := newBook(t)
	b.post(plantedLedger()...)
	told := 0
	_, err := Run(t.Context(), b, statement(t, nil, "trade_id,settlement_interval,amount"), Options{Each: func(*Finding) error {
		told++
		return errors.New("the disk is full")
	}})
	require.EqualError(t, err, "the disk is full")
	require.Equal(t, 1, told)
	require.NoError(t, b.Ping(t.Context()))
	report, _ := b.compare(statement(t, nil, "trade_id,settlement_interval,amount"), Options{})
	require.Positive(t, report.Findings, "and the next one works")
}

func TestReport_ShowsTheLargestFindingsOfEqualOnesTheFirst(t *testing.T) {
	report := newReport()
	for i, amount := range []string{"1", "-3", "3", "0", "2", "-2", "9", "8", "7", "6", "5", "4", "1", "3"} {
		report.addLargest(&Finding{TradeID: string(rune('A' + i)), Difference: money.MustParse(amount)})
	}
	var got []string
	for _, f := range report.Largest {
		got = append(got, f.TradeID+f.Difference.String())
	}
	require.Equal(t, []string{"G9", "H8", "I7", "J6", "K5", "L4", "B-3", "C3", "N3", "E2"}, got)
}

func TestReport_AddsUpNodesBeyondTheBoundTogether(t *testing.T) {
	report := newReport()
	for i := range maxNodes + 5 {
		report.add(&group{node: fmt.Sprint(i), billed: money.MustParse("1"), lines: 1, nodes: 1}, nil)
	}
	report.finish()
	require.Len(t, report.ByNode, maxNodes+1)
	require.Equal(t, OtherNodes, report.ByNode[0].Node)
	require.EqualValues(t, 5, report.ByNode[0].Trades)
}

// cutWords takes the words of a finding apart.
func cutWords(words string) (class findings.Class, trade, interval string) {
	name, rest, _ := strings.Cut(words, " | ")
	trade, rest, _ = strings.Cut(rest, ", ")
	trade, _, _ = strings.Cut(trade, " at ")
	return findings.Class(name), trade, rest[:len(noon)]
}
