package main

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/tieout/tieout/pkg/pipeline"
)

// How figures are shown to a person, and put into JSON.

// grouped shows a number with a comma before each thousand.
func grouped(n int64) string { return groupedAmount(strconv.FormatInt(n, 10)) }

// groupedAmount does the same with a decimal in plain notation.
func groupedAmount(amount string) string {
	whole, fraction, hasFraction := strings.Cut(amount, ".")
	digits, negative := strings.CutPrefix(whole, "-")
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	if hasFraction {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// seconds is a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// rate is records a second.
func rate(records int64, took time.Duration) int64 {
	if took <= 0 {
		return 0
	}
	return int64(float64(records) / took.Seconds())
}

// writeStages shows where the time of workers went.
func writeStages(w io.Writer, busy map[string]float64) {
	t := newTable(w, "STAGE", "SECONDS", "")
	alignRight(t, 2)
	for _, stage := range []struct{ name, what string }{
		{pipeline.StagePoll, "waiting for records"},
		{pipeline.StageSettle, "decoding, checking and computing, over all partitions"},
		{pipeline.StagePostgres, "postings, dead letters, counters and offset, over all partitions"},
		{pipeline.StageKafka, "outcomes and offsets"},
	} {
		t.AppendRow(table.Row{stage.name, strconv.FormatFloat(busy[stage.name], 'f', 2, 64), stage.what})
	}
	t.Render()
}

// busySeconds is how long each stage was at work.
func (m metered) busySeconds() map[string]float64 {
	busy := map[string]float64{}
	for stage, took := range m.busy {
		busy[stage] = seconds(took)
	}
	return busy
}
