package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/testdata"
)

// A lineVerdict is what becomes of one line of a file.
type lineVerdict struct {
	key     string
	outcome settle.Outcome
	amount  money.NullDecimal // of a posting
	reason  settle.Reason     // of a dead letter
}

// A demoLine is one line of the demo's file, with what must become of it.
type demoLine struct {
	number  int64 // in the file; the header is line 1
	vendor  string
	invoice string
	want    lineVerdict
}

// demoFigures are the figures of a settled file.
type demoFigures struct {
	Lines       int64  `json:"lines"`
	AutoPosts   int64  `json:"auto_post"`
	Disputes    int64  `json:"dispute"`
	DeadLetters int64  `json:"dead_letter"`
	Duplicates  int64  `json:"duplicate"`
	LedgerRows  int64  `json:"ledger_rows"`
	LedgerTotal string `json:"ledger_total"`
}

// readDemoFigures reads what the file's authors say of the whole.
func readDemoFigures() (figures demoFigures, err error) {
	err = json.Unmarshal(testdata.SalesSummary, &figures)
	return figures, err
}

// readDemoLines reads the claims and, beside each, what must become of it.
func readDemoLines() ([]demoLine, error) {
	claims, err := gzip.NewReader(bytes.NewReader(testdata.Sales))
	if err != nil {
		return nil, err
	}
	wants, err := readLineVerdicts(testdata.SalesExpected)
	if err != nil {
		return nil, err
	}
	reader, err := producer.NewLineReader(claims, producer.Columns{Required: []string{"vendor_id", "retailer_invoice"}})
	if err != nil {
		return nil, err
	}
	lines := make([]demoLine, 0, len(wants))
	for {
		line, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF) && len(lines) == len(wants):
			return lines, nil
		case errors.Is(err, io.EOF) || err == nil && len(lines) == len(wants):
			return nil, fmt.Errorf("the file and what is expected of it differ in length: %d lines are expected", len(wants))
		case err != nil:
			return nil, err
		case line.Failure != nil:
			return nil, fmt.Errorf("line %d: %s", line.Number, line.Failure.Message())
		}
		lines = append(lines, demoLine{
			number: line.Number, vendor: line.Values[0], invoice: line.Values[1], want: wants[len(lines)],
		})
	}
}

// readLineVerdicts reads a file of expectations: key, outcome, amount, reason.
func readLineVerdicts(gzipped []byte) ([]lineVerdict, error) {
	text, err := gzip.NewReader(bytes.NewReader(gzipped))
	if err != nil {
		return nil, err
	}
	reader := csv.NewReader(text)
	reader.ReuseRecord = true
	reader.FieldsPerRecord = 4
	if _, err := reader.Read(); err != nil { // the header
		return nil, err
	}
	var verdicts []lineVerdict
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return verdicts, nil
		}
		if err != nil {
			return nil, err
		}
		v := lineVerdict{key: fields[0], outcome: settle.Outcome(fields[1]), reason: settle.Reason(fields[3])}
		if v.outcome == "duplicate" {
			v.outcome = settle.DuplicateSkipped
		}
		if v.outcome == settle.AutoPost || v.outcome == settle.Dispute {
			v.amount.Valid = true
			if v.amount.Decimal, err = money.Parse(fields[2]); err != nil {
				return nil, err
			}
		}
		verdicts = append(verdicts, v)
	}
}

// lineNumber finds the line in a correlation id, which produce makes of the run
// and the line's number.
func lineNumber(runID, correlationID string) (number int64, ok bool) {
	text, ok := strings.CutPrefix(correlationID, runID+":")
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil
}
