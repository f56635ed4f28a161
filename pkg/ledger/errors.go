package ledger

import (
	"errors"
	"fmt"
)

// ErrSchemaOutdated is returned by Open where the database has not been set up,
// or by an older tieout.
var ErrSchemaOutdated = errors.New("the database schema is older than this tieout: run: tieout setup")

// ErrSchemaNewer is returned by Open and Migrate where a newer tieout has set
// the database up.
var ErrSchemaNewer = errors.New("the database schema is newer than this tieout: install the newer one")

// ErrNoRules is returned by Commit before RegisterRules: a row must say what it
// was judged by.
var ErrNoRules = errors.New("ledger: no rules are registered")

// An OptionError says which option can't be used.
type OptionError struct {
	Option string
	Why    string
}

func (e *OptionError) Error() string { return fmt.Sprintf("ledger: %s %s", e.Option, e.Why) }

// A TableError says why a stream's table can't be a ledger.
type TableError struct {
	Table string
	Why   string
}

func (e *TableError) Error() string { return fmt.Sprintf("ledger %s: %s", e.Table, e.Why) }

// A ConnectError says in one line why a database can't be used. It never shows
// a password.
type ConnectError struct {
	Server string // user@host:port/database
	Why    string
	Cause  error
}

func (e *ConnectError) Error() string {
	if e.Server == "" {
		return "database: " + e.Why
	}
	return fmt.Sprintf("database %s: %s", e.Server, e.Why)
}

func (e *ConnectError) Unwrap() error { return e.Cause }

// A RoleError is returned by Open where the worker's role could do what a
// worker must never do, or can't do what it has to.
type RoleError struct {
	Role string
	Why  string
}

func (e *RoleError) Error() string { return fmt.Sprintf("database role %s %s", e.Role, e.Why) }

// An OtherGroupError is returned by Acquire where another consumer group
// settles the topic into this ledger. Nothing was changed.
type OtherGroupError struct {
	Topic string
	Group string // whose the topic is
	Asked string
}

func (e *OtherGroupError) Error() string {
	return fmt.Sprintf("topic %s is settled by consumer group %q, not by %q: a ledger has one consumer group a topic", e.Topic, e.Group, e.Asked)
}

// A FencedError is returned where the progress row isn't the caller's: its
// transaction is rolled back, or was never its own. Where OwnerNull is set the
// row has no owner (a halt, a skip or an apply took it), else another worker has
// it, or it doesn't stand where the batch begins.
type FencedError struct {
	Source     int32
	OwnerNull  bool
	NextOffset int64 // where the row stands
}

func (e *FencedError) Error() string {
	if e.OwnerNull {
		return fmt.Sprintf("source %d has no owner, it stands at offset %d", e.Source, e.NextOffset)
	}
	return fmt.Sprintf("source %d is not this worker's any more, it stands at offset %d", e.Source, e.NextOffset)
}

// A NotCommittedError is returned where nothing of a batch is committed, for
// certain. The batch may be tried again.
type NotCommittedError struct {
	Source int32
	Cause  error
}

func (e *NotCommittedError) Error() string {
	return fmt.Sprintf("source %d: nothing committed: %v", e.Source, e.Cause)
}

func (e *NotCommittedError) Unwrap() error { return e.Cause }

// An UnknownCommitError is returned where COMMIT was sent, its fate did not come
// back, and the context ended before the progress row could tell.
type UnknownCommitError struct {
	Source int32
	Next   int64 // where the row stands if it was committed
	Cause  error
}

func (e *UnknownCommitError) Error() string {
	return fmt.Sprintf("source %d: whether offsets below %d are committed is unknown: %v", e.Source, e.Next, e.Cause)
}

func (e *UnknownCommitError) Unwrap() error { return e.Cause }

// A PoisonedBatchError is returned where a batch holds more records that the
// ledger refuses than one search's time is enough to find. Nothing is committed;
// the next try, with the batch's Poison, goes on from there.
type PoisonedBatchError struct {
	Source int32
	Found  int // before the search was given up
	Cause  error
}

func (e *PoisonedBatchError) Error() string {
	return fmt.Sprintf("source %d: nothing committed: the search for refused records goes on, %d are found: %v", e.Source, e.Found, e.Cause)
}

func (e *PoisonedBatchError) Unwrap() error { return e.Cause }

// A RefusedBatchError is returned where the ledger refused every posting of a
// batch, or more than can be poison: the fault is then the ledger's and nobody
// is convicted.
type RefusedBatchError struct {
	Source   int32
	Refused  int
	Postings int
	Cause    error
}

func (e *RefusedBatchError) Error() string {
	return fmt.Sprintf("source %d: the ledger refused %d of the batch's %d postings, so the fault is not a record's: %v", e.Source, e.Refused, e.Postings, e.Cause)
}

func (e *RefusedBatchError) Unwrap() error { return e.Cause }

// A BatchError says that a batch is not one: the caller's mistake.
type BatchError struct {
	Source int32
	Why    string
}

func (e *BatchError) Error() string { return fmt.Sprintf("source %d: %s", e.Source, e.Why) }

// A RowError says that a stream wrote a row which doesn't fit its table: the
// stream's mistake, not the record's.
type RowError struct {
	Table  string
	Offset int64
	Why    string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("ledger %s: row of offset %d: %s", e.Table, e.Offset, e.Why)
}

// An UnaccountedError says that postings were neither inserted nor found by
// the comparison after it. The transaction is rolled back.
type UnaccountedError struct {
	Table    string
	Missed   int // not inserted
	Compared int // found in the ledger
}

func (e *UnaccountedError) Error() string {
	return fmt.Sprintf("ledger %s: %d postings were not inserted, but %d of them are found", e.Table, e.Missed, e.Compared)
}
