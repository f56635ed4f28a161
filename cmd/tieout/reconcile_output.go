package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconcile"
	"github.com/tieout/tieout/streams/findings"
)

// A comparisonOutput shows a comparison: findings as they come, so that there
// may be any number of them, and the rest at the end.
type comparisonOutput interface {
	finding(*reconcile.Finding) error
	end(*comparisonReport) error
}

func newComparisonOutput(format string, w io.Writer) comparisonOutput {
	buffered := bufio.NewWriter(w)
	switch format {
	case formatJSON:
		return &jsonComparison{w: buffered}
	case formatCSV:
		return &csvComparison{w: csv.NewWriter(w)}
	}
	return &textComparison{w: w}
}

// textComparison shows the totals and the largest findings.
type textComparison struct{ w io.Writer }

func (*textComparison) finding(*reconcile.Finding) error { return nil }

func (c *textComparison) end(report *comparisonReport) error { return report.write(c.w) }

// jsonComparison writes one object: all findings first, then the report.
type jsonComparison struct {
	w     *bufio.Writer
	count int64
}

// A shownFinding is a finding in JSON.
type shownFinding struct {
	Class              findings.Class `json:"class"`
	TradeID            string         `json:"trade_id"`
	NodeID             *string        `json:"node_id"`
	SettlementInterval string         `json:"settlement_interval"`
	Version            *int64         `json:"version"`
	Revision           *int32         `json:"revision"`
	StatementAmount    *string        `json:"statement_amount"`
	LedgerAmount       *string        `json:"ledger_amount"`
	Difference         string         `json:"difference"`

	Lines         []int64  `json:"lines,omitempty"` // the first ones
	LineCount     int64    `json:"line_count"`
	Roundings     []string `json:"roundings,omitempty"`
	StaleVersion  *int64   `json:"stale_version,omitempty"`
	StaleRevision *int32   `json:"stale_revision,omitempty"`
	StatementMWh  *string  `json:"statement_mwh,omitempty"`
	LedgerMWh     *string  `json:"ledger_mwh,omitempty"`
	StatementRate *string  `json:"statement_price,omitempty"`
	LedgerRate    *string  `json:"ledger_price,omitempty"`
	Words         string   `json:"words"`
}

func newShownFinding(f *reconcile.Finding) *shownFinding {
	s := &shownFinding{
		Class: f.Class, TradeID: f.TradeID, SettlementInterval: f.SettlementInterval,
		StatementAmount: shownAmount(f.Statement), LedgerAmount: shownAmount(f.Ledger), Difference: f.Difference.AmountString(),
		Lines: f.Lines, LineCount: f.LineCount, Words: f.String(),
		StatementMWh: shownFigure(f.StatementMWh), LedgerMWh: shownFigure(f.LedgerMWh),
		StatementRate: shownFigure(f.StatementPrice), LedgerRate: shownFigure(f.LedgerPrice),
	}
	if f.NodeID != "" {
		s.NodeID = &f.NodeID
	}
	if f.Newest != nil {
		s.Version, s.Revision = &f.Newest.Number, &f.Newest.Revision
	}
	if f.Stale != nil {
		s.StaleVersion, s.StaleRevision = &f.Stale.Number, &f.Stale.Revision
	}
	for _, rounding := range f.Roundings {
		s.Roundings = append(s.Roundings, rounding.String())
	}
	return s
}

func shownAmount(d money.NullDecimal) *string {
	if !d.Valid {
		return nil
	}
	text := d.Decimal.AmountString()
	return &text
}

func shownFigure(d money.NullDecimal) *string {
	if !d.Valid {
		return nil
	}
	text := d.Decimal.Normalize().String()
	return &text
}

func (c *jsonComparison) finding(f *reconcile.Finding) error {
	before := ",\n    "
	if c.count == 0 {
		before = "{\n  \"findings\": [\n    "
	}
	c.count++
	text, err := json.Marshal(newShownFinding(f))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.w, "%s%s", before, text)
	return err
}

func (c *jsonComparison) end(report *comparisonReport) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	before := "\n  ],"
	if c.count == 0 {
		before = "{\n  \"findings\": [],"
	}
	// The report's members follow in the same object.
	if _, err := fmt.Fprintf(c.w, "%s%s\n", before, bytes.TrimPrefix(text, []byte("{"))); err != nil {
		return err
	}
	return c.w.Flush()
}

// csvComparison writes a line a finding.
type csvComparison struct {
	w     *csv.Writer
	begun bool
}

func (c *csvComparison) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	return c.w.Write([]string{
		"class", "trade_id", "node_id", "settlement_interval", "version", "revision", "statement_amount", "ledger_amount", "difference", "line", "words",
	})
}

func (c *csvComparison) finding(f *reconcile.Finding) error {
	if err := c.begin(); err != nil {
		return err
	}
	version, revision, line := "", "", ""
	if f.Newest != nil {
		version, revision = strconv.FormatInt(f.Newest.Number, 10), strconv.Itoa(int(f.Newest.Revision))
	}
	if len(f.Lines) > 0 {
		line = strconv.FormatInt(f.Lines[0], 10)
	}
	return c.w.Write([]string{
		string(f.Class), f.TradeID, f.NodeID, f.SettlementInterval, version, revision,
		orNothing(shownAmount(f.Statement)), orNothing(shownAmount(f.Ledger)), f.Difference.AmountString(), line, f.String(),
	})
}

func orNothing(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (c *csvComparison) end(*comparisonReport) error {
	if err := c.begin(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}
