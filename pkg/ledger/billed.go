package ledger

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/tieout/tieout/pkg/money"
)

// A BilledLine is one line of a market operator's statement: what it bills for a
// trade.
type BilledLine struct {
	Line               int64 // its number in the file, from 1
	SettlementInterval string
	TradeID            string
	NodeID             string // empty where the statement has no nodes
	Amount             money.Decimal
	MWh, Price         money.NullDecimal // null where the statement doesn't state them
}

// billedName is the temporary table that a statement is put into, so that
// Postgres sorts it, on disk where it's long. It goes with its transaction.
const billedName = "pg_temp.billed"

// Key columns are COLLATE "C", so that both sides are in the order of their
// bytes, whatever the database's language is.
const createBilled = `
CREATE TEMPORARY TABLE billed (
	line                bigint NOT NULL,
	settlement_interval text COLLATE "C" NOT NULL,
	trade_id            text COLLATE "C" NOT NULL,
	node_id             text COLLATE "C" NOT NULL,
	amount              numeric NOT NULL,
	mwh                 numeric,
	price               numeric
) ON COMMIT DROP`

const (
	copyBilled    = "COPY " + billedName + " FROM STDIN BINARY"
	billedColumns = 7
)

// A billedReader reads lines as one stream of COPY, encoded as they're asked
// for: however many there are, it holds one buffer's worth.
type billedReader struct {
	next  func() (*BilledLine, error)
	buf   []byte
	at    int // how much of buf is read
	ended bool
	lines int64
	err   error // why there are no more, but for their end
}

// billedChunkBytes is encoded at a time.
const billedChunkBytes = 64 << 10

func newBilledReader(next func() (*BilledLine, error)) *billedReader {
	return &billedReader{next: next, buf: append(make([]byte, 0, 2*billedChunkBytes), copyHeader...)}
}

func (r *billedReader) Read(into []byte) (int, error) {
	if r.at == len(r.buf) {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(into, r.buf[r.at:])
	r.at += n
	return n, nil
}

// fill encodes the next lines into the buffer.
func (r *billedReader) fill() error {
	r.buf, r.at = r.buf[:0], 0
	for len(r.buf) < billedChunkBytes {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			r.buf, r.ended = append(r.buf, copyTrailer...), true
			return nil
		}
		if err != nil {
			r.err = err
			return err
		}
		r.lines++
		r.encode(line)
	}
	return nil
}

func (r *billedReader) encode(line *BilledLine) {
	r.buf = binary.BigEndian.AppendUint16(r.buf, billedColumns)
	r.buf = binary.BigEndian.AppendUint32(r.buf, 8)
	r.buf = binary.BigEndian.AppendUint64(r.buf, uint64(line.Line))
	for _, text := range [...]string{line.SettlementInterval, line.TradeID, line.NodeID} {
		r.buf = binary.BigEndian.AppendUint32(r.buf, uint32(len(text)))
		r.buf = append(r.buf, text...)
	}
	for _, d := range [...]money.NullDecimal{{Decimal: line.Amount, Valid: true}, line.MWh, line.Price} {
		if !d.Valid {
			r.buf = append(r.buf, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		r.buf = appendNumeric(r.buf, d.Decimal)
	}
}
