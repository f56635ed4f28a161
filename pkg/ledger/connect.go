package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolConfig makes the worker's connections: bounded, in its role, each with a
// stage of its own.
func (l *Ledger) poolConfig() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(l.opts.URL)
	if err != nil {
		return nil, addressError(err)
	}
	config.MaxConns = int32(l.opts.MaxConns)
	setSession(config.ConnConfig, l.opts.Schema, l.opts.ApplicationName)
	params := config.ConnConfig.RuntimeParams
	params["role"] = l.opts.Role
	params["statement_timeout"] = millis(l.opts.StatementTimeout)
	params["lock_timeout"] = millis(l.opts.LockTimeout)
	params["idle_in_transaction_session_timeout"] = millis(l.opts.IdleInTransactionTimeout)
	// A plan made while the stage was empty would be kept for the batches that
	// aren't; planning costs less than one row in a thousand.
	params["plan_cache_mode"] = "force_custom_plan"
	params["jit"] = "off"
	config.AfterConnect = l.prepareSession
	return config, nil
}

// setSession sets what every connection of tieout's has.
func setSession(config *pgx.ConnConfig, schema, application string) {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	params := config.RuntimeParams
	params["application_name"] = application
	// pg_temp is last, so that no temporary table stands before a ledger.
	params["search_path"] = quoted(schema) + ", pg_temp"
	params["timezone"] = "UTC"
	params["client_encoding"] = "UTF8"
}

// prepareSession makes a new connection ready for batches.
func (l *Ledger) prepareSession(ctx context.Context, conn *pgx.Conn) error {
	// A server that's tuned to lose its last commits in a crash must not lose
	// these: Kafka would be ahead of Postgres.
	_, err := conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, l.statements.createStage)
	return err
}

// checkDatabase holds what can't work against Open, in words.
func (l *Ledger) checkDatabase(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return connectError(config, err)
	}
	defer closeConn(ctx, conn)
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return &ConnectError{Server: server(config), Why: fmt.Sprintf("its encoding is %s, tieout needs UTF8", encoding)}
	}
	if err := checkVersion(ctx, conn); err != nil {
		return err
	}
	return checkRole(ctx, conn, l.opts.Role, l.opts.Table.Name)
}

// closeConn ends a connection that nothing more is wanted of: the server finds
// out by itself where it can't be told.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), roundTripGrace)
	defer cancel()
	_ = conn.Close(ctx)
}

// addressError says that an address can't be read, without what it says: it may
// hold a password anywhere.
func addressError(error) error {
	return &ConnectError{Why: "the address can't be read: want postgres://user:password@host:port/database or key=value pairs"}
}

// connectError puts a failure to connect into one line.
func connectError(config *pgx.ConnConfig, err error) error {
	return &ConnectError{Server: server(config), Why: connectWhy(config, err), Cause: err}
}

// plain puts an error of the pool's into one line, where it says that there is
// no connection; any other it leaves as it is.
func (l *Ledger) plain(err error) error {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return connectError(l.pool.Config().ConnConfig, err)
	}
	return err
}

func connectWhy(config *pgx.ConnConfig, err error) string {
	role := config.RuntimeParams["role"]
	var dial *net.OpError
	switch pg := postgresError(err); {
	case pg != nil && pg.Code == stateInvalidParameter && strings.Contains(pg.Message, "role"):
		return fmt.Sprintf("role %q doesn't exist: run: tieout setup", role)
	case pg != nil && pg.Code == stateInsufficientRight && strings.Contains(pg.Message, "role"):
		return fmt.Sprintf("%s isn't a member of role %q: run tieout setup as %[1]s, or GRANT %[2]q TO %[1]s", config.User, role)
	case pg != nil:
		return pg.Message
	case errors.Is(err, context.Canceled):
		return "the attempt to connect was given up"
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return "no answer in time"
	case errors.As(err, &dial):
		return dial.Err.Error()
	}
	lines := strings.Split(err.Error(), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// server names a database without its password.
func server(config *pgx.ConnConfig) string {
	return config.User + "@" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}

// quoted makes a name an SQL identifier, also where it's a reserved word.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
