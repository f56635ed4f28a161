package producer

import (
	"context"
	"errors"
	"io"

	"github.com/tieout/tieout/pkg/settle"
)

// A Tally counts a file's lines.
type Tally struct {
	Lines   int64                   // without the header and empty lines
	Refused map[settle.Reason]int64 // by reason
	Unused  []string                // columns that nobody asked for
}

// RefusedTotal is the number of lines refused for any reason.
func (t Tally) RefusedTotal() (total int64) {
	for _, count := range t.Refused {
		total += count
	}
	return total
}

// A pass goes over a file's lines once.
type pass struct {
	file     *File
	columns  Columns
	rejects  *Rejects          // may be nil: refused lines are only counted
	progress func(bytes int64) // may be nil: called with how much text lies behind, and at the end with all
	handle   func(Line) (*settle.Failure, error)
}

// linesBetweenLooks is how many lines go by between two looks at the context
// and two reports of progress.
const linesBetweenLooks = 256

// run hands each line to handle, in order, and those that are refused to the
// rejects file. Its tally says how far it got.
func (p pass) run(ctx context.Context) (Tally, error) {
	tally := Tally{Refused: make(map[settle.Reason]int64)}
	lines, err := p.file.Lines(p.columns)
	if err != nil {
		return tally, err
	}
	tally.Unused = lines.Unused()
	defer func() { p.report(p.file.size) }()
	for {
		if tally.Lines%linesBetweenLooks == 0 {
			if err := ctx.Err(); err != nil {
				return tally, err
			}
			p.report(lines.BytesRead())
		}
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return tally, nil
		}
		if err != nil {
			return tally, p.file.failed(err)
		}
		tally.Lines++
		if err := p.line(line, &tally); err != nil {
			return tally, err
		}
	}
}

func (p pass) line(line Line, tally *Tally) (err error) {
	failure := line.Failure
	if failure == nil {
		if failure, err = p.handle(line); err != nil {
			return err
		}
	}
	if failure == nil {
		return nil
	}
	tally.Refused[failure.Reason]++
	if p.rejects == nil {
		return nil
	}
	return p.rejects.Add(line, failure)
}

func (p pass) report(bytes int64) {
	if p.progress != nil {
		p.progress(bytes)
	}
}
