package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconcile"
)

// A demoStatement is what the market operator bills for a file of trades.
type demoStatement struct {
	name    string
	text    []byte // gzipped
	altered string // the trade whose amount is altered, to show a difference
}

// alteration is added to one amount of the statement.
const alteration = "0.01"

// A demoComparison is what came of comparing the ledger with a statement, as
// `tieout reconcile` shows it.
type demoComparison struct {
	Findings []*shownFinding `json:"findings"`
	comparisonReport
}

// reconcile compares the ledger with the statement: each line must tie.
func (r *demoRun) reconcile(ctx context.Context) (err error) {
	statement := r.file.statement
	r.report.Statement, err = r.compareStatement(ctx, statement.name, statement.text)
	if err != nil {
		return err
	}
	if all := r.report.Statement.All; !r.report.Statement.Ties || all.Trades != r.report.currentRows() || all.Ledger != r.report.Expected.CurrentTotal {
		r.differ("in the statement: ", fmt.Sprintf("%d findings of %d trades, which come to %s in the ledger", r.report.Statement.FindingCount, all.Trades, all.Ledger))
	}
	return nil
}

// reconcileAltered compares it with the statement altered: the line that is must
// be found, and no other.
func (r *demoRun) reconcileAltered(ctx context.Context) error {
	text, err := r.file.statement.alter()
	if err != nil {
		return fmt.Errorf("%s: %w", r.file.statement.name, err)
	}
	name := strings.TrimSuffix(r.file.statement.name, ".csv.gz") + "_altered.csv"
	altered, err := r.compareStatement(ctx, name, text)
	if err != nil {
		return err
	}
	r.report.Altered = altered
	if found := altered.Findings; len(found) != 1 || found[0].TradeID != r.file.statement.altered || found[0].Difference != alteration {
		r.differ("in the statement altered: ", fmt.Sprintf("%d findings %q, expected is %s more of %s alone", len(found), altered.Largest, alteration, r.file.statement.altered))
	}
	return nil
}

// compareStatement lays a statement out and compares it, as `tieout reconcile`
// does.
func (r *demoRun) compareStatement(ctx context.Context, name string, text []byte) (compared *demoComparison, err error) {
	path := filepath.Join(r.sandbox.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	statement, err := reconcile.OpenStatement(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	book, err := openBook(ctx, r.sandbox.cfg, r.lanes()[0], "demo", r.sandbox.logger)
	if err != nil {
		return nil, err
	}
	defer book.Close()
	compared = &demoComparison{Findings: []*shownFinding{}}
	options := reconcile.Options{Progress: r.app.progressBar(path), Each: func(f *reconcile.Finding) error {
		compared.Findings = append(compared.Findings, newShownFinding(f))
		return nil
	}}
	report, err := reconcile.Run(ctx, book, statement, options)
	if err != nil {
		return nil, err
	}
	compared.comparisonReport = *newComparisonReport(name, &options, report, nil)
	return compared, nil
}

// alter returns the statement with one amount altered.
func (s *demoStatement) alter() ([]byte, error) {
	text, err := gzip.NewReader(bytes.NewReader(s.text))
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(text).ReadAll()
	if err != nil {
		return nil, err
	}
	trade, amount := slices.Index(lines[0], "trade_id"), slices.Index(lines[0], "amount")
	at := slices.IndexFunc(lines, func(line []string) bool { return line[trade] == s.altered })
	if at < 0 {
		return nil, fmt.Errorf("there is no trade %s", s.altered)
	}
	billed, err := money.Parse(lines[at][amount])
	if err != nil {
		return nil, err
	}
	more, err := money.Parse(alteration)
	if err != nil {
		return nil, err
	}
	lines[at][amount] = billed.Add(more).String()
	var altered bytes.Buffer
	err = csv.NewWriter(&altered).WriteAll(lines)
	return altered.Bytes(), err
}
