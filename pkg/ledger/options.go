package ledger

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/tieout/tieout/pkg/settle"
)

// Options say which database a Ledger is in, which stream's, and its bounds.
type Options struct {
	// URL is a Postgres address or DSN. Its login is a member of Role.
	URL    string
	Schema string
	// Role is the worker's: every connection acts as it, so that not even a
	// superuser's login changes what is posted.
	Role string

	// ConsumerGroup is the only one that settles its topic into this ledger.
	ConsumerGroup string

	// Stream is the stream's name, on dead letters; Table is its ledger.
	Stream string
	Table  settle.Table

	// MaxConns bounds the pool: one connection for each partition that commits
	// at a time. Default 4.
	MaxConns int

	// The three time-outs bound what a worker that stands still can hold up:
	// they're those of the Kafka session, so that a worker which has lost its
	// partitions has lost its locks too. Default 10 s each.
	StatementTimeout         time.Duration
	LockTimeout              time.Duration
	IdleInTransactionTimeout time.Duration

	// ApplicationName is what pg_stat_activity shows. Default "tieout".
	ApplicationName string

	Logger *slog.Logger
}

const (
	defaultMaxConns = 4
	defaultTimeout  = 10 * time.Second

	// connectTimeout bounds one attempt to connect.
	connectTimeout = 5 * time.Second

	// roundTripGrace is what a round trip may take beyond the server's own
	// time-outs before the connection counts as lost.
	roundTripGrace = 5 * time.Second
)

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns
	}
	for _, timeout := range []*time.Duration{&o.StatementTimeout, &o.LockTimeout, &o.IdleInTransactionTimeout} {
		if *timeout == 0 {
			*timeout = defaultTimeout
		}
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "tieout"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate names the first option that can't be used.
func (o *Options) Validate() error {
	if err := checkNames(name{"Schema", o.Schema}, name{"Role", o.Role}); err != nil {
		return err
	}
	switch {
	case o.URL == "":
		return &OptionError{"URL", "is empty"}
	case o.ConsumerGroup == "":
		return &OptionError{"ConsumerGroup", "is empty"}
	case o.Stream == "":
		return &OptionError{"Stream", "is empty"}
	case o.MaxConns < 1:
		return &OptionError{"MaxConns", fmt.Sprintf("is %d, it's at least 1", o.MaxConns)}
	}
	for option, timeout := range map[string]time.Duration{
		"StatementTimeout": o.StatementTimeout, "LockTimeout": o.LockTimeout, "IdleInTransactionTimeout": o.IdleInTransactionTimeout,
	} {
		if timeout < time.Millisecond {
			return &OptionError{option, fmt.Sprintf("is %v, it's at least a millisecond: what waits has a bound", timeout)}
		}
	}
	return checkTable(&o.Table)
}

// A name is an SQL name that comes from configuration.
type name struct {
	option string
	value  string
}

// namePattern is what Postgres takes without quotes, reserved words aside,
// which only quotes make names: those are quoted wherever they're used.
var namePattern = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// maxNameBytes is Postgres' own limit; longer names are cut there in silence.
const maxNameBytes = 63

func checkNames(names ...name) error {
	for _, n := range names {
		if len(n.value) > maxNameBytes || !namePattern.MatchString(n.value) {
			return &OptionError{n.option, fmt.Sprintf("is %q: want lower-case letters, digits and underscores, at most %d", n.value, maxNameBytes)}
		}
	}
	return nil
}
