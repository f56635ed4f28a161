package producer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tieout/tieout/pkg/settle"
)

// A Line is one line of a file; a quoted field may carry it over more than one
// line of text. Its slices are good until the next one is read.
type Line struct {
	// Number is the line of text on which it begins; the header's is 1.
	Number int64
	// Values are the columns that were asked for: the required ones in their order
	// and the optional ones in theirs.
	Values []string
	// Original is the line as it stood, for the rejects file.
	Original []string
	// Failure says why the line can't be told apart into fields. There are no
	// Values then.
	Failure *settle.Failure
}

// A LineReader reads CSV as RFC 4180 has it, with LF or CRLF at the line's end,
// and never changes a byte of what stands in a field: identities are hashed. It
// holds one line at a time. encoding/csv does neither: it drops a CR before LF
// inside of quotes, and for a quote that is never closed reads on until memory
// ends.
//
// What isn't CSV costs one line of text, and reading goes on with the next.
type LineReader struct {
	text   textBuffer
	fields []string
	values []string
	header *header
}

// NewLineReader reads the header, which must have the required columns.
func NewLineReader(in io.Reader, columns Columns) (*LineReader, error) {
	r := &LineReader{text: newTextBuffer(in), values: make([]string, len(columns.names()))}
	if err := r.text.skipByteOrderMark(); err != nil {
		return nil, err
	}
	number, failure, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, ErrEmptyFile
	case err != nil:
		return nil, err
	case failure != nil:
		return nil, &HeaderError{fmt.Sprintf("on line %d isn't CSV: %s", number, failure.Value)}
	}
	r.header, err = parseHeader(slices.Clone(r.fields), &columns)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Columns are the names that the header has, without those of a rejects file.
func (r *LineReader) Columns() []string { return r.header.original(r.header.names) }

// Unused are the columns that the header has and nobody asked for.
func (r *LineReader) Unused() []string { return r.header.unused }

// BytesRead is how much text lies behind.
func (r *LineReader) BytesRead() int64 { return r.text.read }

// Read returns the next line, and io.EOF behind the last one.
func (r *LineReader) Read() (Line, error) {
	number, failure, err := r.next()
	if err != nil {
		return Line{}, err
	}
	line := Line{Number: number, Original: r.fields, Failure: failure}
	if failure != nil {
		return line, nil
	}
	line.Original = r.header.original(r.fields)
	if len(r.fields) != len(r.header.names) {
		line.Failure = settle.Structural(settle.ReasonWrongFieldCount, "",
			fmt.Sprintf("%d fields instead of %d", len(r.fields), len(r.header.names)))
		return line, nil
	}
	for i := range r.values {
		r.values[i] = r.header.value(r.fields, i)
	}
	line.Values = r.values
	return line, nil
}

// next takes one line apart into r.fields. Lines without a single character
// are passed over.
func (r *LineReader) next() (number int64, failure *settle.Failure, err error) {
	for {
		number = r.text.lines + 1
		text, err := r.text.line()
		switch {
		case errors.Is(err, errLongLine):
			failure, err := r.longLine(text)
			return number, failure, err
		case err != nil:
			return 0, nil, err
		case len(text) == 0:
			r.text.consumeLine()
		case bytes.IndexByte(text, '"') >= 0:
			failure, err := r.quoted()
			return number, failure, err
		case bytes.IndexByte(text, '\r') >= 0:
			return number, r.notCSV(problemBareReturn), nil
		default:
			r.plain(string(text))
			return number, nil, nil
		}
	}
}

// plain takes a line without quotes apart. The fields share its memory.
func (r *LineReader) plain(text string) {
	r.fields = r.fields[:0]
	for more := true; more; {
		var field string
		field, text, more = strings.Cut(text, ",")
		r.fields = append(r.fields, field)
	}
	r.text.consumeLine()
}

// quoted takes a line with quotes apart, over as many lines of text as its
// quotes span.
func (r *LineReader) quoted() (*settle.Failure, error) {
	for {
		scan := quoteScan{in: r.text.unread(), atEnd: r.text.atEnd(), fields: r.fields[:0]}
		scan.run()
		r.fields = scan.fields
		switch {
		case scan.problem != "":
			return r.notCSV(scan.problem), nil
		case !scan.short:
			r.text.consume(scan.at, scan.newlines)
			return nil, nil
		case len(scan.in) >= maxLineBytes:
			return r.notCSV(problemUnclosed), nil
		}
		if err := r.text.fill(); err != nil {
			return nil, err
		}
	}
}

// notCSV refuses one line of text. It stands whole in one field of the rejects
// file, so that sent again as it is it's refused again.
func (r *LineReader) notCSV(problem string) *settle.Failure {
	r.fields = append(r.fields[:0], string(r.text.shown()))
	r.text.consumeLine()
	return settle.Structural(settle.ReasonWrongFieldCount, "", problem)
}

// longLine refuses a line that is too long to be held, and so to be repeated.
func (r *LineReader) longLine(beginning []byte) (*settle.Failure, error) {
	failure := settle.Structural(settle.ReasonFieldTooLong, "", string(beginning))
	r.fields = r.fields[:0]
	return failure, r.text.discardLine()
}
