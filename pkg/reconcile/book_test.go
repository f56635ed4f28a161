package reconcile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/streams/trades"
)

// A book is a ledger of trades in a database of a test's own. What it's to hold
// is inserted as it is: what a worker makes of records is tested elsewhere.
type book struct {
	*ledger.Ledger
	t    testing.TB
	conn *pgx.Conn // as the owner
}

func newBook(t testing.TB) *book {
	t.Helper()
	schema, address := devstack.TestSchema(t), devstack.TestDatabase(t)
	_, err := ledger.Migrate(t.Context(), ledger.MigrateOptions{
		URL: address, Schema: schema, OwnerRole: schema + "_owner", WorkerRole: schema + "_worker",
	})
	require.NoError(t, err)
	l, err := ledger.Open(t.Context(), ledger.Options{
		URL: address, Schema: schema, Role: schema + "_worker",
		ConsumerGroup: "reconcile", Stream: "trades", Table: trades.New().Table(),
	})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	_, err = conn.Exec(t.Context(), "SET search_path = "+schema)
	require.NoError(t, err)
	return &book{Ledger: l, t: t, conn: conn}
}

// A posted is one row of the ledger.
type posted struct {
	interval, trade, node string
	version               int64
	revision              int32
	mwh, price            string
	amount                string // default: mwh x price, half even
}

func (p posted) values() []any {
	key, amount := reconkey.Trade(p.node, p.interval, p.trade), p.amount
	if amount == "" {
		product, err := money.Amount(money.MustParse(p.mwh), money.MustParse(p.price), money.HalfEven)
		if err != nil {
			panic(err)
		}
		amount = product.String()
	}
	version := reconkey.TradeVersion(p.node, p.interval, p.trade, p.version)
	return []any{p.interval, key[:], p.version, p.revision, version[:], p.trade, p.node, p.mwh, p.price, amount}
}

const insertPosted = `
INSERT INTO trade_ledger (settlement_interval, reconciliation_key, version, revision, idempotency_key, trade_id, node_id, mwh, price, amount,
	currency, outcome, run_id, delivery, correlation_id, source, source_offset, rules_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::numeric, $9::text::numeric, $10::text::numeric, 'USD', 'auto_post', 'live', '', '', 1, 0, 1)`

func (b *book) post(rows ...posted) {
	b.t.Helper()
	var batch pgx.Batch
	for _, row := range rows {
		batch.Queue(insertPosted, row.values()...)
	}
	require.NoError(b.t, b.conn.SendBatch(b.t.Context(), &batch).Close())
}

// statement opens a statement of these lines.
func statement(t testing.TB, columns map[string]string, lines ...string) *Statement {
	t.Helper()
	path := filepath.Join(t.TempDir(), "statement.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return openStatement(t, path, columns)
}

func openStatement(t testing.TB, path string, columns map[string]string) *Statement {
	t.Helper()
	s, err := OpenStatement(t.Context(), path, columns)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// compare runs a comparison and returns its findings in words, too.
func (b *book) compare(s *Statement, options Options) (*Report, []string) {
	b.t.Helper()
	var words []string
	options.Each = func(f *Finding) error {
		words = append(words, string(f.Class)+" | "+f.String())
		return nil
	}
	report, err := Run(b.t.Context(), b, s, options)
	require.NoError(b.t, err)
	require.EqualValues(b.t, len(words), report.Findings)
	return report, words
}
