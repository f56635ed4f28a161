package reconcile

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/findings"
	"github.com/tieout/tieout/streams/trades"
)

// A Statement is a file of what a market operator bills, a line a trade and
// interval: CSV, gzipped or not, with a header, in any order.
type Statement struct {
	file    *producer.File
	columns *columnMap
	byNode  bool
	unused  []string
}

// OpenStatement opens a statement. columns maps names of fields to those of the
// statement's columns, where they differ. The error is a *producer.FileError or
// a *ColumnError.
func OpenStatement(ctx context.Context, path string, columns map[string]string) (*Statement, error) {
	mapped, err := newColumnMap(columns)
	if err != nil {
		return nil, err
	}
	file, err := producer.OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	lines, err := file.Lines(mapped.read)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Statement{
		file: file, columns: mapped, unused: slices.Clone(lines.Unused()),
		byNode: slices.Contains(lines.Columns(), mapped.names[fieldNode]),
	}, nil
}

// Close closes the file.
func (s *Statement) Close() error { return s.file.Close() }

// RunID names the run of the statement's findings: the same file is the same
// run, however often it's compared.
func (s *Statement) RunID() string { return s.file.DefaultRunID(findings.New().Name()) }

// A statementReader hands over the lines of a statement that are in the scope.
type statementReader struct {
	statement *Statement
	lines     *producer.LineReader
	scope     *Scope
	progress  func(done, total int64)

	line    ledger.BilledLine
	read    int64 // lines of the statement, without its header
	outside int64 // of the scope
	bad     BadLinesError
}

func (s *Statement) newReader(scope *Scope, progress func(done, total int64)) (*statementReader, error) {
	lines, err := s.file.Lines(s.columns.read)
	if err != nil {
		return nil, err
	}
	return &statementReader{
		statement: s, lines: lines, scope: scope, progress: progress, bad: BadLinesError{Path: s.file.Path()},
	}, nil
}

// linesBetweenLooks is how many lines go by between two looks at the context
// and two reports of progress.
const linesBetweenLooks = 1024

// next returns the next line that's in the scope, and io.EOF behind the last
// one. Lines that can't be read are kept for the end, so that all of them are
// named at once.
func (r *statementReader) next(ctx context.Context) (*ledger.BilledLine, error) {
	for {
		if r.read%linesBetweenLooks == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.report(r.lines.BytesRead())
		}
		line, err := r.lines.Read()
		if errors.Is(err, io.EOF) {
			return nil, r.end()
		}
		if err != nil {
			return nil, &producer.FileError{Path: r.statement.file.Path(), Err: err}
		}
		r.read++
		failure := line.Failure
		if failure == nil {
			failure = r.parse(line)
		}
		switch {
		case failure != nil:
			r.refuse(line.Number, failure)
		case !r.scope.holds(&r.line):
			r.outside++
		case r.bad.Total == 0: // else nothing will be compared
			return &r.line, nil
		}
	}
}

func (r *statementReader) end() error {
	r.report(r.statement.file.Size())
	if r.bad.Total > 0 {
		return &r.bad
	}
	return io.EOF
}

func (r *statementReader) report(done int64) {
	if r.progress != nil {
		r.progress(done, r.statement.file.Size())
	}
}

func (r *statementReader) refuse(number int64, failure *settle.Failure) {
	r.bad.Total++
	if len(r.bad.Lines) < maxBadLines {
		r.bad.Lines = append(r.bad.Lines, BadLine{Number: number, Failure: failure})
	}
}

// parse takes a line's fields. A failure calls them as the statement does.
func (r *statementReader) parse(line producer.Line) (failure *settle.Failure) {
	columns := r.statement.columns
	field := func(name string) (column, text string) { return columns.names[name], line.Values[columns.at[name]] }

	r.line = ledger.BilledLine{Line: line.Number}
	if r.line.TradeID, failure = parseText(field(fieldTrade)); failure != nil {
		return failure
	}
	if r.statement.byNode {
		if r.line.NodeID, failure = parseText(field(fieldNode)); failure != nil {
			return failure
		}
	}
	if r.line.SettlementInterval, failure = parseInterval(field(fieldInterval)); failure != nil {
		return failure
	}
	if r.line.Amount, failure = parseAmount(field(fieldAmount)); failure != nil {
		return failure
	}
	if r.line.MWh, failure = parseOptional(field(fieldMWh)); failure != nil {
		return failure
	}
	if r.line.Price, failure = parseOptional(field(fieldPrice)); failure != nil {
		return failure
	}
	if column, text := field(fieldCurrency); text != "" && text != findings.Currency {
		return settle.Business(settle.ReasonUnsupportedCurrency, column, text).WithDetail("the ledger is in " + findings.Currency)
	}
	return nil
}

func parseText(column, text string) (string, *settle.Failure) {
	if text == "" {
		return "", settle.Structural(settle.ReasonMissingField, column, "")
	}
	return text, settle.CheckText(column, text)
}

// parseInterval takes an interval in any zone, as produce does.
func parseInterval(column, text string) (string, *settle.Failure) {
	interval, failure := producer.ParseInterval(column, text)
	if failure == nil && !trades.IsInterval(interval) {
		failure = settle.Structural(settle.ReasonInvalidInterval, column, text).WithDetail("it's outside the years 1 to 9999")
	}
	return interval, failure
}

// parseAmount takes an amount as large as the ledger's can be: with that, no
// total of a file's lines is too large to be computed.
func parseAmount(column, text string) (amount money.Decimal, failure *settle.Failure) {
	if text == "" {
		return amount, settle.Structural(settle.ReasonMissingField, column, "")
	}
	if amount, failure = settle.ParseDecimal(column, text); failure != nil {
		return amount, failure
	}
	if magnitude(amount).Sub(money.MustParse(amountLimit)).Sign() >= 0 {
		failure = settle.Business(settle.ReasonOutOfRange, column, text).WithDetail("the ledger's amounts are below " + amountLimit)
	}
	return amount, failure
}

// amountLimit is the first amount that numeric(18,2) doesn't hold.
const amountLimit = "10000000000000000"

// parseOptional takes a decimal that a line may leave empty: then it isn't
// stated, and isn't compared.
func parseOptional(column, text string) (d money.NullDecimal, failure *settle.Failure) {
	if text == "" {
		return d, nil
	}
	d.Decimal, failure = settle.ParseDecimal(column, text)
	d.Valid = failure == nil
	return d, failure
}

func magnitude(d money.Decimal) money.Decimal {
	if d.Sign() < 0 {
		return d.Neg()
	}
	return d
}
