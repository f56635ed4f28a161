package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tieout/tieout/pkg/money"
)

// A ComparisonScope is the part of the ledger that a statement is compared with.
type ComparisonScope struct {
	// From and To bound the settlement intervals, as the ledger writes them: From
	// is within, To is not. Empty: no bound.
	From, To string
	// Nodes are those that count (default: all).
	Nodes []string
	// ByNode says that the statement's lines name their node. Without, a line
	// stands beside all nodes of its trade and interval.
	ByNode bool
}

// A ComparedRow is one line of the statement, or, where Line is 0, one version
// of a trade in the ledger.
type ComparedRow struct {
	BilledLine
	Version  int64
	Revision int32
}

// CompareStatement puts a statement beside the ledger of trades and hands both
// over as one ordered stream: by interval, trade and, where the statement has
// nodes, node; of each, first the statement's lines, then the ledger's versions
// by node from the oldest to the newest. A row is good until the next one.
//
// Lines come from next until io.EOF; any other error of it, or of take, ends the
// comparison and is returned. Nothing of either side is held here: Postgres
// sorts, on disk where it must, and everything that take sees is one snapshot.
func (l *Ledger) CompareStatement(ctx context.Context, scope ComparisonScope, next func() (*BilledLine, error), take func(*ComparedRow) error) error {
	t, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer t.close(ctx) // all that was written is temporary
	if err := t.stageStatement(ctx, next); err != nil {
		return err
	}
	return t.readComparison(ctx, scope, take)
}

// unhurried lifts the time-outs of a worker's session for one transaction: to
// sort a long statement takes minutes, and nobody waits for a lock of it.
// work_mem lets Postgres merge fewer and longer runs.
const unhurried = `
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL work_mem = '64MB'`

func (t *tx) stageStatement(ctx context.Context, next func() (*BilledLine, error)) error {
	if _, err := t.conn.Exec(ctx, unhurried+";"+createBilled); err != nil {
		return fmt.Errorf("stage the statement: %w", err)
	}
	lines := newBilledReader(next)
	tag, err := t.conn.Conn().PgConn().CopyFrom(ctx, lines, copyBilled)
	switch {
	case lines.err != nil:
		return lines.err // the server only repeats it
	case err != nil:
		return fmt.Errorf("stage the statement: %w", err)
	case tag.RowsAffected() != lines.lines:
		return fmt.Errorf("stage the statement: %d lines were sent, %d arrived", lines.lines, tag.RowsAffected())
	}
	if _, err := t.conn.Exec(ctx, "ANALYZE "+billedName); err != nil {
		return fmt.Errorf("stage the statement: %w", err)
	}
	return nil
}

func (t *tx) readComparison(ctx context.Context, scope ComparisonScope, take func(*ComparedRow) error) error {
	// A result that isn't read to its end would be, by whoever closes it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sql, args := scope.query(t.ledger.opts.Table.Name)
	// As text, read as Postgres makes it: what isn't taken yet waits there.
	options := []any{pgx.QueryExecModeExec, pgx.QueryResultFormats{pgx.TextFormatCode}}
	rows, err := t.conn.Query(ctx, sql, append(options, args...)...)
	if err != nil {
		return fmt.Errorf("compare the statement: %w", err)
	}
	defer rows.Close()
	var row ComparedRow
	for rows.Next() {
		if err := row.read(rows.RawValues()); err != nil {
			return fmt.Errorf("compare the statement: %w", err)
		}
		if err := take(&row); err != nil {
			cancel()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("compare the statement: %w", err)
	}
	return nil
}

// ledgersLine is the line of the ledger's rows while they're sorted: behind the
// statement's.
const ledgersLine = "9223372036854775807"

// query makes the statement that merges both sides. Each is sorted by itself;
// the ledger's primary key begins with the interval, so that only the trades of
// one interval are sorted at a time.
func (s *ComparisonScope) query(table string) (sql string, args []any) {
	var where []string
	condition := func(format string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(format, len(args)))
	}
	if s.From != "" {
		condition("settlement_interval >= $%d", s.From)
	}
	if s.To != "" {
		condition("settlement_interval < $%d", s.To)
	}
	if len(s.Nodes) > 0 {
		condition("node_id = ANY($%d::text[])", s.Nodes)
	}
	filter := ""
	if len(where) > 0 {
		filter = " WHERE " + strings.Join(where, " AND ")
	}
	order := "settlement_interval, trade_id, line, node_id, version, revision"
	if s.ByNode {
		order = "settlement_interval, trade_id, node_id, line, version, revision"
	}
	return `SELECT line, settlement_interval, trade_id, node_id, amount, mwh, price, version, revision FROM (
	SELECT line, settlement_interval, trade_id, node_id, amount, mwh, price, 0::bigint AS version, 0 AS revision FROM ` + billedName + `
	UNION ALL
	SELECT ` + ledgersLine + `, settlement_interval, trade_id COLLATE "C", node_id COLLATE "C", amount, mwh, price, version, revision
	FROM ` + table + filter + `) AS sides ORDER BY ` + order, args
}

// read takes the columns of a row, in the order of the query. Texts that are as
// in the row before aren't made anew: of two rows most often one is the
// statement's and one the ledger's.
func (r *ComparedRow) read(values [][]byte) (err error) {
	if string(values[0]) == ledgersLine {
		r.Line = 0
	} else if r.Line, err = strconv.ParseInt(string(values[0]), 10, 64); err != nil {
		return err
	}
	for i, text := range [...]*string{&r.SettlementInterval, &r.TradeID, &r.NodeID} {
		if value := values[1+i]; *text != string(value) {
			*text = string(value)
		}
	}
	if r.Amount, err = money.Parse(string(values[4])); err != nil {
		return err
	}
	for i, decimal := range [...]*money.NullDecimal{&r.MWh, &r.Price} {
		if *decimal, err = nullDecimal(textOrNull(values[5+i])); err != nil {
			return err
		}
	}
	if r.Version, err = strconv.ParseInt(string(values[7]), 10, 64); err != nil {
		return err
	}
	revision, err := strconv.ParseInt(string(values[8]), 10, 32)
	r.Revision = int32(revision)
	return err
}

func textOrNull(value []byte) *string {
	if value == nil {
		return nil
	}
	text := string(value)
	return &text
}
