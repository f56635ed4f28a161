package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// ReaderOptions say which installation is read, and as whom.
type ReaderOptions struct {
	// URL is a Postgres address or DSN. Its login is a member of Role.
	URL    string
	Schema string
	// Role is the worker's: it may read everything that workers write.
	Role string
	// StatementTimeout bounds each question. Default 10 s.
	StatementTimeout time.Duration
	// ApplicationName is what pg_stat_activity shows. Default "tieout".
	ApplicationName string
}

// Validate fills in the defaults and names the first option that can't be used.
func (o *ReaderOptions) Validate() error {
	if o.URL == "" {
		return &OptionError{"URL", "is empty"}
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = defaultTimeout
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "tieout"
	}
	return checkNames(name{"Schema", o.Schema}, name{"Role", o.Role})
}

// A Reader answers what an installation knows over all streams. It can't write.
// It's one connection, for one goroutine at a time.
type Reader struct {
	conn *pgx.Conn
	opts ReaderOptions
}

// OpenReader connects, and checks that the schema is of this version.
func OpenReader(ctx context.Context, opts ReaderOptions) (*Reader, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(opts.URL)
	if err != nil {
		return nil, addressError(err)
	}
	setSession(config, opts.Schema, opts.ApplicationName)
	params := config.RuntimeParams
	params["role"] = opts.Role
	params["statement_timeout"] = millis(opts.StatementTimeout)
	params["default_transaction_read_only"] = "on"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, connectError(config, err)
	}
	if err := checkVersion(ctx, conn); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	return &Reader{conn: conn, opts: opts}, nil
}

// Close closes the connection.
func (r *Reader) Close(ctx context.Context) { closeConn(ctx, r.conn) }

func (r *Reader) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.opts.StatementTimeout+roundTripGrace)
}
