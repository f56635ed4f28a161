package ledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tieout/tieout/pkg/settle"
)

// CopyAlone is for measuring, and for nothing else: it copies the entries'
// postings straight into an empty ledger, a batch a transaction, over as many
// connections as the ledger may have. No offset goes with them, and a duplicate
// fails it. That is the least that any worker has to do, and so what one is held
// against. A ledger that has settled anything refuses it.
func (l *Ledger) CopyAlone(ctx context.Context, entries []*settle.Entry, batchRows int) error {
	rules := l.rulesID.Load()
	switch {
	case rules == 0:
		return ErrNoRules
	case batchRows < 1:
		return &OptionError{"batchRows", fmt.Sprintf("is %d, it's at least 1", batchRows)}
	}
	if err := l.checkUnused(ctx); err != nil {
		return err
	}
	batches := slices.Collect(slices.Chunk(entries, batchRows))
	group, ctx := errgroup.WithContext(ctx)
	for first := range l.opts.MaxConns {
		group.Go(func() error {
			d := &directCopy{stage: newStage(&l.opts.Table)}
			for at := first; at < len(batches); at += l.opts.MaxConns {
				if err := l.copyBatch(ctx, d, batches[at], rules); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// checkUnused refuses a ledger that is in use.
func (l *Ledger) checkUnused(ctx context.Context) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	var used bool
	err := l.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM progress) OR EXISTS (SELECT FROM "+l.opts.Table.Name+")").Scan(&used)
	if err != nil {
		return fmt.Errorf("look into %s: %w", l.opts.Table.Name, err)
	}
	if used {
		return &TableError{Table: l.opts.Table.Name, Why: "it's in use: only an empty one is measured"}
	}
	return nil
}

// copyBatch encodes a batch as it's always done, and sends it in one COPY.
func (l *Ledger) copyBatch(ctx context.Context, d *directCopy, entries []*settle.Entry, rules int32) error {
	if err := d.encode(entries, rules); err != nil {
		return err
	}
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().PgConn().CopyFrom(ctx, newCopyReader(d.buf, d.rows), d.statement(&l.opts.Table))
	if err != nil {
		return fmt.Errorf("copy into %s: %w", l.opts.Table.Name, err)
	}
	return nil
}

// A directCopy makes the ledger's own rows of staged ones.
type directCopy struct {
	stage *stage
	buf   []byte
	rows  []span
}

// statement names the columns as they're staged. The ledger has no position;
// source, which is as long, stands in its place.
func (d *directCopy) statement(t *settle.Table) string {
	columns := []string{"source"}
	for _, c := range slices.Concat(t.Columns, commonColumns()) {
		columns = append(columns, c.Name)
	}
	return "COPY " + t.Name + " (" + strings.Join(append(columns, "rules_id"), ", ") + ") FROM STDIN BINARY"
}

// encode puts the rules behind each staged row, and the source before it, which
// is none.
func (d *directCopy) encode(entries []*settle.Entry, rules int32) error {
	s := d.stage
	if err := s.encode(entries); err != nil {
		return err
	}
	d.buf, d.rows = d.buf[:0], d.rows[:0]
	for _, row := range s.sorted {
		from := len(d.buf)
		d.buf = append(d.buf, s.writer.buf[row.from:row.to]...)
		binary.BigEndian.PutUint16(d.buf[from:], s.writer.fields+1)
		binary.BigEndian.PutUint32(d.buf[from+positionAt:], 0)
		d.buf = binary.BigEndian.AppendUint32(d.buf, 4)
		d.buf = binary.BigEndian.AppendUint32(d.buf, uint32(rules))
		d.rows = append(d.rows, span{from, len(d.buf)})
	}
	return nil
}
