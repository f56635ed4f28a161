package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
)

// A lineVerdict is what becomes of one line of a file.
type lineVerdict struct {
	key     string
	version int64 // of a posting
	outcome settle.Outcome
	amount  money.NullDecimal // of a posting
	reason  settle.Reason     // of a dead letter, or of a line that was rejected
}

// rejected is what a line comes to that is never sent.
const rejected settle.Outcome = "rejected"

// A demoLine is one line of a file, with what must become of it.
type demoLine struct {
	number int64    // in the file; the header is line 1
	shown  []string // what a person knows it by
	want   lineVerdict
}

// readLines reads the lines of the file and, beside each, what must become of
// it.
func (f *demoFile) readLines() ([]demoLine, error) {
	text, err := gzip.NewReader(bytes.NewReader(f.text))
	if err != nil {
		return nil, err
	}
	wants, err := readLineVerdicts(f.expected)
	if err != nil {
		return nil, err
	}
	reader, err := producer.NewLineReader(text, producer.Columns{Required: f.columns})
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
		want := wants[len(lines)]
		if err := f.identify(line.Values, &want); err != nil {
			return nil, fmt.Errorf("line %d: %w", line.Number, err)
		}
		shown := append([]string(nil), line.Values[:len(f.titles)]...)
		lines = append(lines, demoLine{number: line.Number, shown: shown, want: want})
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
		v := lineVerdict{key: fields[0], outcome: expectedOutcome(fields[1]), reason: settle.Reason(fields[3])}
		if v.outcome == settle.AutoPost || v.outcome == settle.Dispute {
			v.amount.Valid = true
			if v.amount.Decimal, err = money.Parse(fields[2]); err != nil {
				return nil, err
			}
		}
		verdicts = append(verdicts, v)
	}
}

// expectedOutcome translates what the authors of the files call some outcomes.
func expectedOutcome(word string) settle.Outcome {
	switch word {
	case "applied":
		return settle.AutoPost
	case "duplicate", "skipped":
		return settle.DuplicateSkipped
	}
	return settle.Outcome(word)
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

// readRejects reads a file of refused lines: the reason of each, by its number.
func readRejects(file io.Reader) (map[int64]settle.Reason, error) {
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	reasons := make(map[int64]settle.Reason, len(rows))
	for _, row := range rows[min(1, len(rows)):] { // behind the header
		number, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			return nil, err
		}
		reasons[number] = settle.Reason(row[3])
	}
	return reasons, nil
}
