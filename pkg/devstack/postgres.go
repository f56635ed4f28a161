package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// superuser is the role that initdb makes, and the database of its own.
const superuser = "postgres"

// An Origin says where the server's binaries may come from.
type Origin int

// The origins of binaries.
const (
	AnyOrigin    Origin = iota // this machine's, else downloaded ones
	MachineOnly                // never download
	DownloadOnly               // never this machine's
)

// PostgresOptions are those of StartPostgres; the zero value is a temporary
// server on a free port.
type PostgresOptions struct {
	// DataDir keeps the data over restarts. Empty: temporary, removed by Stop.
	DataDir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
	// Unsafe turns off what makes commits survive a crash of the machine.
	// Tests run a third faster with it.
	Unsafe bool
	// Origin of the binaries.
	Origin Origin
	// CacheDir is where downloaded binaries are kept. Empty: the user's cache.
	CacheDir string
	// Logger is told of a download. Nil: nobody is.
	Logger *slog.Logger
}

// Validate says what is wrong with the options.
func (o PostgresOptions) Validate() error {
	return validatePort("Postgres", o.Port)
}

// Postgres is a server that runs as a child of this process, and no longer
// than it.
type Postgres struct {
	home    *home
	process *process
	url     string
}

// StartPostgres starts a server and returns when it answers. The context
// bounds only the start; the server runs until Stop.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	account, err := unprivilegedAccount()
	if err != nil {
		return nil, err
	}
	home, err := openHome(ctx, opts.DataDir, account)
	if err != nil {
		return nil, err
	}
	p := &Postgres{home: home}
	if err := p.start(ctx, opts); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Postgres) start(ctx context.Context, opts PostgresOptions) error {
	with, err := newFinder(opts, p.home.account).find(ctx, p.home)
	if err != nil {
		return err
	}
	if err := p.home.initialize(ctx, with, opts.Unsafe); err != nil {
		return err
	}
	return p.serve(ctx, with, opts)
}

// maxPortTries bounds the search for a free port: between finding one and
// listening on it, another process can take it.
const maxPortTries = 5

func (p *Postgres) serve(ctx context.Context, with installation, opts PostgresOptions) error {
	password, err := p.home.password()
	if err != nil {
		return err
	}
	if err := p.home.clearStalePID(); err != nil {
		return err
	}
	for try := 1; ; try++ {
		port, err := freePort(ctx, "Postgres", opts.Port)
		if err != nil {
			return err
		}
		p.url = (&url.URL{
			Scheme:   "postgres",
			User:     url.UserPassword(superuser, password),
			Host:     net.JoinHostPort(loopback, strconv.Itoa(port)),
			Path:     "/" + superuser,
			RawQuery: "sslmode=disable",
		}).String()
		err = p.home.logged(ctx, "postgres", func(log *os.File) error {
			return p.launch(ctx, log, with, serverArguments(p.home.data(), port, opts.Unsafe))
		})
		if err == nil || opts.Port != 0 || try == maxPortTries || !strings.Contains(err.Error(), "create any TCP/IP sockets") {
			return err
		}
	}
}

// serverArguments set what must hold whatever the data folder's own
// configuration says. No Unix socket: its path would be too long in many
// folders, and everything here goes over loopback.
func serverArguments(data string, port int, unsafe bool) []string {
	settings := []string{
		"listen_addresses=" + loopback,
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=",
		"max_connections=200", // tests in parallel, each with pools of its own
		"logging_collector=off",
	}
	if unsafe {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// launch starts the server and waits until it answers or ends.
func (p *Postgres) launch(ctx context.Context, log *os.File, with installation, args []string) error {
	process, err := startProcess(p.home.command(log, with.postgres(), args...))
	if err != nil {
		return err
	}
	p.process = process
	return awaitReady(ctx, process, p.url)
}

func awaitReady(ctx context.Context, process *process, databaseURL string) error {
	for {
		err := ping(ctx, databaseURL)
		if err == nil {
			return nil
		}
		pause := readinessEvery
		refused := isRefusal(err)
		if refused {
			pause = refusalPatience
		}
		select {
		case <-process.exited:
			return fmt.Errorf("ended: %w", process.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
			if refused {
				return err
			}
		}
	}
}

// isRefusal tells whether a server answered, and not because it's starting.
// Where ours can't have the port, it's another's, and ours is about to end.
func isRefusal(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code != cannotConnectNow
}

// cannotConnectNow is what a server says that is starting.
const cannotConnectNow = "57P03"

const (
	readinessEvery  = 10 * time.Millisecond // a start takes about 100 ms
	refusalPatience = 2 * time.Second
)

func ping(ctx context.Context, databaseURL string) error {
	conn, err := pgconn.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL is the address of the server's first database, as its superuser.
func (p *Postgres) URL() string { return p.url }

// Exited is closed when the server has ended, by itself or by Stop.
func (p *Postgres) Exited() <-chan struct{} { return p.process.exited }

// exitError says why the server ended by itself.
func (p *Postgres) exitError() error {
	return &StartError{Command: "postgres", Said: p.home.complaint(), Cause: fmt.Errorf("ended: %w", p.process.err)}
}

// How long the server may take to stop: a fast shutdown writes a checkpoint,
// an immediate one only ends processes.
const (
	fastPatience      = 15 * time.Second
	immediatePatience = 5 * time.Second
)

// Stop ends the server, and removes temporary data. It's called once.
func (p *Postgres) Stop() error {
	if p.process != nil &&
		!p.process.end(syscall.SIGINT, fastPatience) &&
		!p.process.end(syscall.SIGQUIT, immediatePatience) {
		p.process.end(syscall.SIGKILL, immediatePatience)
	}
	return p.home.close()
}
