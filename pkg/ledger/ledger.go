// Package ledger is tieout's Postgres: postings, dead letters, counters and the
// consumed offset, written in one transaction. It holds steps 1, 3 and 5 of the
// commit protocol, and what is recorded for step 4. It's the only user of pgx.
package ledger

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A Ledger is one stream's tables, as the worker's role. It's safe for
// concurrent use: partitions commit in parallel.
type Ledger struct {
	opts       Options
	statements statements
	pool       *pgxpool.Pool
	log        *slog.Logger

	rulesID atomic.Int32 // 0: none are registered

	news   news
	stages chan *stage // to be used again; as many as there are connections
}

// Open connects, and checks that the schema is of this version and that the
// role is a worker's.
func Open(ctx context.Context, opts Options) (*Ledger, error) {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	l := &Ledger{opts: opts, statements: newStatements(&opts.Table), log: opts.Logger}
	l.stages = make(chan *stage, opts.MaxConns)
	config, err := l.poolConfig()
	if err != nil {
		return nil, err
	}
	if err := l.checkDatabase(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	if l.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, connectError(config.ConnConfig, err)
	}
	if err := l.Ping(ctx); err != nil {
		l.pool.Close()
		return nil, err
	}
	return l, nil
}

// Close waits for what is under way and closes every connection.
func (l *Ledger) Close() { l.pool.Close() }

// Ping tells whether the database can be reached.
func (l *Ledger) Ping(ctx context.Context) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	if err := l.pool.Ping(ctx); err != nil {
		return connectError(l.pool.Config().ConnConfig, err)
	}
	return nil
}

// bounded gives one round trip its time: the server ends a statement by itself,
// so that anything longer is a connection that is lost.
func (l *Ledger) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.opts.StatementTimeout+roundTripGrace)
}

// takeStage takes a stage that was used before, or makes one. They're kept in a
// list and not in a sync.Pool, which every collection empties: a stage grows to
// a megabyte and more.
func (l *Ledger) takeStage() *stage {
	select {
	case s := <-l.stages:
		return s
	default:
		return newStage(&l.opts.Table)
	}
}

// keepStage keeps a stage for another batch.
func (l *Ledger) keepStage(s *stage) {
	if !s.worthKeeping() {
		return
	}
	select {
	case l.stages <- s:
	default:
	}
}
