package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// What a worker is wished to reach; missing it is no failure.
const (
	wantedRatio     = 0.35
	wantedMemoryMiB = 256
)

// A benchReport is what the benchmark shows in the end.
type benchReport struct {
	Records    int                `json:"records"`
	Partitions int                `json:"partitions"`
	Limit      benchRate          `json:"copy_alone"`
	EndToEnd   benchRate          `json:"end_to_end"`
	Ratio      float64            `json:"ratio"`
	MemoryMiB  int64              `json:"peak_memory_mib"` // of the worker's process
	Wanted     benchWanted        `json:"wanted"`
	Busy       map[string]float64 `json:"busy_seconds"` // of the worker, by stage, over all partitions
}

type benchRate struct {
	Seconds float64 `json:"seconds"`
	Rate    int64   `json:"records_per_second"`
}

type benchWanted struct {
	Ratio     float64 `json:"ratio"`
	MemoryMiB int64   `json:"peak_memory_mib"`
}

// write says it in words.
func (r *benchReport) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s claims, %s\n\n", grouped(int64(r.Records)), counted(int64(r.Partitions), "partition"))
	t := newTable(&b, "MEASURED", "", "")
	alignRight(t, 2)
	t.AppendRow(table.Row{"copying alone", grouped(r.Limit.Rate) + "/s",
		fmt.Sprintf("the limit: %d connections, %s rows a batch", limitConnections, grouped(limitBatchRows))})
	t.AppendRow(table.Row{"end to end", grouped(r.EndToEnd.Rate) + "/s", "from a worker's first fetch to the last outcome"})
	t.AppendRow(table.Row{"ratio", fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("wanted: at least %.2f", r.Wanted.Ratio)})
	t.AppendRow(table.Row{"peak memory", fmt.Sprintf("%d MiB", r.MemoryMiB), fmt.Sprintf("wanted: at most %d MiB", r.Wanted.MemoryMiB)})
	t.Render()
	b.WriteString("\nWhere the worker's time went:\n\n")
	writeStages(&b, r.Busy)
	_, err := io.WriteString(w, b.String())
	return err
}
