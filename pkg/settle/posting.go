package settle

import (
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
)

// An Outcome is what becomes of a record.
type Outcome string

const (
	// AutoPost follows a posting whose claim equals the model, or has none.
	AutoPost Outcome = "auto_post"
	// Dispute follows a posting whose claim differs from the model.
	Dispute Outcome = "dispute"
	// DuplicateSkipped is a copy of what is posted: counted, not published.
	DuplicateSkipped Outcome = "duplicate_skipped"
	// DeadLetter is a record that can't be settled.
	DeadLetter Outcome = "dead_letter"
)

// A Posting is the settled amount of one version of one thing: what every
// stream's ledger row has, whatever the stream.
type Posting struct {
	Key        reconkey.Key
	Version    int64
	Revision   int32
	Outcome    Outcome // AutoPost or Dispute
	Amount     money.Decimal
	Claimed    money.NullDecimal
	Difference money.NullDecimal // claimed - amount; null where nothing is claimed
	Currency   string

	// Quantity is what the amount is for, and what its delivery's control sum
	// adds up. Beside a failure it's null where it wasn't read, and always where
	// the stream has none.
	Quantity money.NullDecimal

	CorrelationID string

	// Row writes what is particular to the stream.
	Row Row

	// The posting of this key before this one; most have none.
	PrevVersion *int64
	PrevAmount  money.NullDecimal
}

// Row is the stream's own part of a ledger row.
type Row interface {
	// WriteColumns writes the columns of Table.Columns, all and in order.
	WriteColumns(RowWriter)
}

// RowWriter takes a row's columns one by one, in order, each with the method of
// its type.
type RowWriter interface {
	Null()
	Text(string)
	Bytes([]byte)
	Int32(int32)
	Int64(int64)
	Decimal(money.Decimal)
	TimestampMicros(int64) // microseconds since the Unix epoch, UTC
}

// WriteNullable writes a value with the method of its type, or null.
func WriteNullable[T any](w RowWriter, write func(T), value *T) {
	if value == nil {
		w.Null()
		return
	}
	write(*value)
}

// WriteNullDecimal does the same with a decimal.
func WriteNullDecimal(w RowWriter, value money.NullDecimal) {
	if !value.Valid {
		w.Null()
		return
	}
	w.Decimal(value.Decimal)
}

// SettlePosting fills in what follows from amount and claim: the difference
// and the outcome.
func (p *Posting) SettlePosting(amount money.Decimal, claimed money.NullDecimal) {
	p.Amount, p.Claimed, p.Outcome = amount, claimed, AutoPost
	if !claimed.Valid {
		return
	}
	p.Difference = money.NullDecimal{Decimal: claimed.Decimal.Sub(amount), Valid: true}
	if p.Difference.Decimal.Sign() != 0 {
		p.Outcome = Dispute
	}
}
