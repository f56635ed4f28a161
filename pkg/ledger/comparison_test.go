package ledger

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/streams/trades"
)

// openBook opens the ledger of trades.
func (in *installation) openBook(change ...func(*Options)) *Ledger {
	in.t.Helper()
	return in.open(append([]func(*Options){func(o *Options) { o.Stream, o.Table = "trades", trades.New().Table() }}, change...)...)
}

// postTrade posts a version of a trade as it is, under a key that says no more
// than its parts.
func (in *installation) postTrade(interval, trade, node string, version, revision int, mwh, price, amount string) {
	in.t.Helper()
	in.exec(`
INSERT INTO trade_ledger (settlement_interval, reconciliation_key, version, revision, idempotency_key, trade_id, node_id, mwh, price, amount,
	currency, outcome, run_id, delivery, correlation_id, source, source_offset, rules_id)
VALUES ($1, sha256(($1::text || $2::text || $3::text)::bytea), $4::bigint, $5, sha256(($1::text || $2::text || $3::text || $4::bigint)::bytea), $2, $3, $6::text::numeric, $7::text::numeric, $8::text::numeric,
	'USD', 'auto_post', 'live', '', '', 1, 0, 1)`, interval, trade, node, version, revision, mwh, price, amount)
}

// billed hands lines over one by one.
func billed(lines ...BilledLine) func() (*BilledLine, error) {
	return func() (*BilledLine, error) {
		if len(lines) == 0 {
			return nil, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return &line, nil
	}
}

// compared is what a comparison hands over, a row a text.
func compared(t *testing.T, l *Ledger, scope ComparisonScope, lines ...BilledLine) (rows []string) {
	t.Helper()
	require.NoError(t, l.CompareStatement(t.Context(), scope, billed(lines...), func(r *ComparedRow) error {
		side := fmt.Sprintf("line %d", r.Line)
		if r.Line == 0 {
			side = fmt.Sprintf("version %d.%d", r.Version, r.Revision)
		}
		text := fmt.Sprintf("%s %s %s %s %s", r.SettlementInterval[11:13], r.TradeID, r.NodeID, side, r.Amount)
		for _, d := range []money.NullDecimal{r.MWh, r.Price} {
			if d.Valid {
				text += " " + d.Decimal.String()
			}
		}
		rows = append(rows, text)
		return nil
	}))
	return rows
}

func tradesAndLines(in *installation) []BilledLine {
	in.postTrade("2019-06-01T04:00:00Z", "T", "WEST", 2, 0, "3", "0.5", "1.50")
	in.postTrade("2019-06-01T04:00:00Z", "T", "WEST", 10, 0, "3", "0.6", "1.80")
	in.postTrade("2019-06-01T04:00:00Z", "T", "WEST", 2, 1, "3", "0.7", "2.10")
	in.postTrade("2019-06-01T04:00:00Z", "T", "EAST", 1, 0, "-1", "5", "-5.00")
	in.postTrade("2019-06-01T03:00:00Z", "a", "EAST", 1, 0, "1", "5", "5.00")
	in.postTrade("2019-06-01T03:00:00Z", "B", "EAST", 1, 0, "1", "6", "6.00")
	return []BilledLine{
		{Line: 5, SettlementInterval: "2019-06-01T04:00:00Z", TradeID: "T", NodeID: "WEST", Amount: money.MustParse("1.8")},
		{Line: 4, SettlementInterval: "2019-06-01T04:00:00Z", TradeID: "T", NodeID: "WEST", Amount: money.MustParse("-0.000000001"),
			MWh: money.NullDecimal{Decimal: money.MustParse("3.5"), Valid: true}},
		{Line: 3, SettlementInterval: "2019-06-01T05:00:00Z", TradeID: "T", NodeID: "WEST", Amount: money.MustParse("9999999999999999.99"),
			Price: money.NullDecimal{Decimal: money.MustParse("0"), Valid: true}},
	}
}

func TestCompareStatement_MergesBothSidesInTheOrderOfTheirKeys(t *testing.T) {
	in := newInstallation(t)
	lines := tradesAndLines(in)
	require.Equal(t, []string{
		"03 B EAST version 1.0 6.00 1.000000000 6.000000000",
		"03 a EAST version 1.0 5.00 1.000000000 5.000000000",
		"04 T EAST version 1.0 -5.00 -1.000000000 5.000000000",
		"04 T WEST line 4 -0.000000001 3.5",
		"04 T WEST line 5 1.8",
		"04 T WEST version 2.0 1.50 3.000000000 0.500000000",
		"04 T WEST version 2.1 2.10 3.000000000 0.700000000",
		"04 T WEST version 10.0 1.80 3.000000000 0.600000000",
		"05 T WEST line 3 9999999999999999.99 0",
	}, compared(t, in.openBook(), ComparisonScope{ByNode: true}, lines...))
}

func TestCompareStatement_WithoutNodesALineComesBeforeAllNodesOfItsTrade(t *testing.T) {
	in := newInstallation(t)
	lines := tradesAndLines(in)
	for i := range lines {
		lines[i].NodeID = ""
	}
	require.Equal(t, []string{
		"04 T  line 4 -0.000000001 3.5",
		"04 T  line 5 1.8",
		"04 T EAST version 1.0 -5.00 -1.000000000 5.000000000",
		"04 T WEST version 2.0 1.50 3.000000000 0.500000000",
		"04 T WEST version 2.1 2.10 3.000000000 0.700000000",
		"04 T WEST version 10.0 1.80 3.000000000 0.600000000",
		"05 T  line 3 9999999999999999.99 0",
	}, compared(t, in.openBook(), ComparisonScope{From: "2019-06-01T04:00:00Z"}, lines...))
}

func TestCompareStatement_TheScopeBoundsTheLedger(t *testing.T) {
	in := newInstallation(t)
	tradesAndLines(in)
	l := in.openBook()
	require.Len(t, compared(t, l, ComparisonScope{From: "2019-06-01T03:00:00Z", To: "2019-06-01T04:00:00Z"}), 2)
	require.Len(t, compared(t, l, ComparisonScope{Nodes: []string{"EAST", "NORTH"}}), 3)
	require.Len(t, compared(t, l, ComparisonScope{From: "2019-06-01T04:00:00Z", Nodes: []string{"EAST"}}), 1)
	require.Empty(t, compared(t, l, ComparisonScope{From: "2019-06-01T05:00:00Z"}))
}

func TestCompareStatement_IsNotHurriedAndLeavesNothing(t *testing.T) {
	in := newInstallation(t)
	lines := tradesAndLines(in)
	l := in.openBook(func(o *Options) {
		o.MaxConns = 1
		o.StatementTimeout, o.IdleInTransactionTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	slow := billed(lines...)
	err := l.CompareStatement(t.Context(), ComparisonScope{ByNode: true}, func() (*BilledLine, error) {
		time.Sleep(100 * time.Millisecond)
		return slow()
	}, func(*ComparedRow) error {
		time.Sleep(30 * time.Millisecond)
		return nil
	})
	require.NoError(t, err)

	var timeout string
	require.NoError(t, l.pool.QueryRow(t.Context(), "SELECT current_setting('statement_timeout') || ' ' || coalesce(to_regclass('pg_temp.billed')::text, '')").Scan(&timeout))
	require.Equal(t, "100ms ", timeout, "the next one to have the connection has a worker's")
	require.Len(t, compared(t, l, ComparisonScope{ByNode: true}, lines...), 9)
}

func TestCompareStatement_ReturnsTheErrorOfEitherSideAsItIs(t *testing.T) {
	in := newInstallation(t)
	lines := tradesAndLines(in)
	l := in.openBook(func(o *Options) { o.MaxConns = 1 })
	bad := errors.New("the file ends too early")
	taken := 0
	take := func(*ComparedRow) error { taken++; return nil }
	err := l.CompareStatement(t.Context(), ComparisonScope{}, func() (*BilledLine, error) { return nil, bad }, take)
	require.Equal(t, bad, err)
	require.Zero(t, taken)
	full := errors.New("the disk is full")
	err = l.CompareStatement(t.Context(), ComparisonScope{}, billed(lines...), func(*ComparedRow) error { return full })
	require.Equal(t, full, err)
	require.Len(t, compared(t, l, ComparisonScope{ByNode: true}, lines...), 9, "and the next one works")
}

func TestCompareStatement_TakesAStatementInChunks(t *testing.T) {
	in := newInstallation(t)
	const many = 20_000
	sent, next := 0, int64(0)
	err := in.openBook().CompareStatement(t.Context(), ComparisonScope{ByNode: true}, func() (*BilledLine, error) {
		if sent == many {
			return nil, io.EOF
		}
		sent++
		return &BilledLine{
			Line: int64(many - sent + 1), SettlementInterval: "2019-06-01T04:00:00Z", TradeID: "a trade with a long name", NodeID: "WEST", Amount: money.MustParse("1.5"),
		}, nil
	}, func(r *ComparedRow) error {
		if next++; r.Line != next {
			return fmt.Errorf("line %d comes as number %d", r.Line, next)
		}
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, many, next)
}
