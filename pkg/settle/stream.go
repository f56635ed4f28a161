package settle

import "slices"

// A Stream is one kind of business record: its schema, its checks and
// arithmetic, its ledger. A new stream is one folder under streams/, one schema
// and one migration.
type Stream interface {
	// Name is the stream's name in commands, metrics and the ledger's name.
	Name() string

	// Envelope is the reader's Avro schema of the stream's records, and the
	// struct (by value) that Settle decodes them into. A pointer to it is an
	// Envelope.
	Envelope() (schema string, target any)

	// Table describes the stream's ledger.
	Table() Table

	// RetryPolicy says how often a record of the stream is tried whose failure
	// may pass.
	RetryPolicy() RetryPolicy

	// Settle makes a posting of a record, or says why it can't be one. It's
	// pure: the same record and the same decoder give the same result, with no
	// clock and no I/O; that is what makes replay possible. body is the
	// record's value behind the wire format's header, and decoder is for the
	// schema that the header names.
	Settle(record *Record, body []byte, decoder Decoder) (Posting, *Failure)
}

// A Decoder decodes one writer schema's bodies into the stream's own struct.
type Decoder interface {
	// Decode fails on anything but exactly one value: truncated, over-long and
	// trailing bytes are errors.
	Decode(body []byte, into any) error
}

// A Table is what pkg/ledger has to know of a stream's ledger. Column names
// are SQL names that need no quotes.
type Table struct {
	Name string

	// Columns are the stream's own, in the order in which Row.WriteColumns
	// writes them; those that every ledger has come behind them.
	Columns []Column

	// Key is the primary key, the period first.
	Key []string

	// Economics are the columns that make two copies the same, compared by
	// value, null equal to null.
	Economics []string

	// Pinned are the columns in which a second copy of a posted key may not
	// differ, else it is a version conflict, found before economics count.
	Pinned []string

	// SameVersion says what becomes of a second record of a posted version whose
	// economics are others. Only a table whose version is part of its key can
	// revise.
	SameVersion SameVersion

	// Version and Claimed name the columns that outcomes carry; Claimed is
	// empty where the stream's records claim nothing.
	Version string
	Claimed string

	// Quantity names the column that Posting.Quantity goes into; empty where the
	// stream has none.
	Quantity string
}

// Versioned tells whether every version of a thing is a row of its own: then the
// key's columns without version and revision, which come last, name the thing.
func (t *Table) Versioned() bool { return slices.Contains(t.Key, t.Version) }

// SameVersion is what becomes of a second record of a posted version whose
// economics are others.
type SameVersion int

// The ways to take it.
const (
	// Reject makes it a dead letter: conflicting_duplicate.
	Reject SameVersion = iota
	// Revise makes it the next revision of its version.
	Revise
)

// A Column is one column of a ledger.
type Column struct {
	Name string
	Type ColumnType
}

// A ColumnType is the SQL type of a column, as pkg/ledger writes it.
type ColumnType int

// The types that a RowWriter writes.
const (
	Text ColumnType = iota
	Bytes
	Int32
	Int64
	Decimal
	Timestamp
)

// A Lane is a topic with its consumer group and limits. Lanes share no queue,
// no connection and no batch.
type Lane struct {
	Name   string // as commands say it: validate
	Topic  string // without the installation's prefix: recon.validate
	Stream Stream
	Topics OutcomeTopics
}

// OutcomeTopics are where a stream's outcomes go, without the installation's
// prefix. Dispute is empty where the stream disputes nothing.
type OutcomeTopics struct {
	AutoPost   string
	Dispute    string
	DeadLetter string
}

// All returns the topics that exist.
func (t OutcomeTopics) All() []string {
	all := make([]string, 0, 3)
	for _, topic := range []string{t.AutoPost, t.Dispute, t.DeadLetter} {
		if topic != "" {
			all = append(all, topic)
		}
	}
	return all
}
