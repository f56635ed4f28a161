package ledger

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that mean something to this package.
const (
	stateUniqueViolation      = "23505"
	stateInvalidBinary        = "22P03"
	stateBadCopyFormat        = "22P04"
	stateInvalidParameter     = "22023"
	stateIdleInTransaction    = "25P03"
	stateInvalidCatalog       = "3D000"
	stateInvalidSchema        = "3F000"
	stateSerializationFailure = "40001"
	stateDeadlock             = "40P01"
	stateInsufficientRight    = "42501"
	stateUndefinedTable       = "42P01"
	stateDuplicateObject      = "42710"
	stateLockNotAvailable     = "55P03"
	stateInternal             = "XX000"
)

// postgresError returns what the server said, or nil where it said nothing.
func postgresError(err error) *pgconn.PgError {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg
	}
	return nil
}

func hasState(err error, states ...string) bool {
	pg := postgresError(err)
	if pg == nil {
		return false
	}
	for _, state := range states {
		if pg.Code == state {
			return true
		}
	}
	return false
}

// isContention tells whether a transaction failed for others that ran at the
// same time: the whole of it is worth another try. One that may be committed
// never is.
func isContention(err error) bool {
	return !errors.Is(err, errUnknownCommit) && (errors.Is(err, errRaced) || hasState(err, stateDeadlock, stateSerializationFailure, stateLockNotAvailable))
}

// isRecordsFault tells whether an error that a ledger gave while it took rows
// can be one row's own: bad data or a violated constraint. A key of tieout's own
// is never violated by a record, and binary that Postgres can't read is this
// package's fault.
func isRecordsFault(pg *pgconn.PgError, ledger string) bool {
	switch pg.Code {
	case stateInvalidBinary, stateBadCopyFormat:
		return false
	case stateUniqueViolation:
		return pg.TableName == ledger && pg.ConstraintName != ledger+"_pkey"
	}
	return strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23")
}

// isTaken tells whether an insert met a key that the ledger has.
func isTaken(err error, ledger string) bool {
	pg := postgresError(err)
	return pg != nil && pg.Code == stateUniqueViolation && pg.TableName == ledger && pg.ConstraintName == ledger+"_pkey"
}
