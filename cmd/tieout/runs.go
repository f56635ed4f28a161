package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams"
)

func newRunsCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "runs",
		Short: "Show what became of runs and their deliveries",
		Example: `  tieout runs list --since 24h
  tieout runs show december`,
	}, newRunsListCommand(a), newRunsShowCommand(a))
}

// runsListFlags are the flags of runs list that are nobody else's.
type runsListFlags struct {
	since string
	limit int
}

// maxListed bounds a list to what a person, or a page, can bear.
const maxListed = 10_000

func newRunsListCommand(a *app) *cobra.Command {
	var flags runsListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the newest deliveries, and what became of their records",
		Long: `List the newest deliveries with what became of their records. The counts are committed with the postings, so that they're exact at every moment.
FIRST and LAST are when the first and the last of them were settled. Records whose producer names no run are counted under the run live.`,
		Example: `  tieout runs list
  tieout runs list --since 24h --limit 100
  tieout runs list --since 2026-09-01 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd, "database-url")
			if err != nil {
				return err
			}
			return a.listRuns(cmd.Context(), cfg, flags)
		},
	}
	cmd.Flags().StringVar(&flags.since, "since", "", "only deliveries of which something was settled since `TIME`: 36h ago, or a date, or a time of RFC 3339")
	cmd.Flags().IntVar(&flags.limit, "limit", 20, "how many deliveries at most")
	return cmd
}

// A deliveryCounts is one delivery of one stream, and what became of its records.
type deliveryCounts struct {
	RunID        string     `json:"run_id"`
	Delivery     string     `json:"delivery"`
	Stream       string     `json:"stream"`
	Applied      int64      `json:"applied"`
	Skipped      int64      `json:"skipped"`
	DeadLettered int64      `json:"dead_lettered"`
	Disputed     int64      `json:"disputed"` // of those applied
	Total        int64      `json:"total"`
	FirstAt      *time.Time `json:"first_at"` // null: nothing has arrived
	LastAt       *time.Time `json:"last_at"`
}

func (a *app) listRuns(ctx context.Context, cfg *config, flags runsListFlags) error {
	since, err := parseSince(flags.since, time.Now())
	switch {
	case err != nil:
		return usagef("--since: %w", err)
	case flags.limit < 1 || flags.limit > maxListed:
		return usagef("--limit %d: between 1 and %d", flags.limit, maxListed)
	}
	reader, err := openReader(ctx, cfg, "tieout runs list")
	if err != nil {
		return err
	}
	defer reader.Close(ctx)
	summaries, err := reader.Deliveries(ctx, since, flags.limit)
	if err != nil {
		return err
	}
	list := countDeliveries(summaries, cfg.streamOf)
	return a.print(cfg, list, func(w io.Writer) error { return writeDeliveries(w, list) })
}

func openReader(ctx context.Context, cfg *config, application string) (*ledger.Reader, error) {
	return ledger.OpenReader(ctx, ledger.ReaderOptions{
		URL: cfg.DatabaseURL, Schema: cfg.Schema, Role: cfg.WorkerRole, ApplicationName: application,
	})
}

// streamOf names the stream that settles a topic; empty where none does.
func (c *config) streamOf(topic string) string {
	for _, lane := range streams.Lanes() {
		if c.topic(lane.Topic) == topic {
			return lane.Stream.Name()
		}
	}
	return ""
}

// parseSince reads a time as people give it: how long ago, a day, or exactly.
// Nothing is ever.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is none of 36h, 2026-09-01, 2026-09-01T08:00:00Z", text)
}

// countDeliveries adds up the topics of a delivery that one stream settles. They
// stand together.
func countDeliveries(summaries []ledger.DeliverySummary, streamOf func(string) string) []deliveryCounts {
	var merged []ledger.DeliverySummary // with the stream for a topic
	begin := 0                          // of the delivery in hand
	for _, s := range summaries {
		s.Topic = streamOf(s.Topic)
		if begin < len(merged) && merged[begin].Delivery != s.Delivery {
			begin = len(merged)
		}
		at := slices.IndexFunc(merged[begin:], func(m ledger.DeliverySummary) bool { return m.Topic == s.Topic })
		if at < 0 {
			merged = append(merged, s)
			continue
		}
		m := &merged[begin+at]
		m.Add(s.Counts)
		if s.First.Before(m.First) {
			m.First = s.First
		}
		if s.Last.After(m.Last) {
			m.Last = s.Last
		}
	}
	list := make([]deliveryCounts, 0, len(merged))
	for _, m := range merged {
		list = append(list, newDeliveryCounts(m.Delivery, m.Topic, m.Counts, m.First, m.Last))
	}
	return list
}

func newDeliveryCounts(delivery settle.Delivery, stream string, counts ledger.Counts, first, last time.Time) deliveryCounts {
	return deliveryCounts{
		RunID: delivery.RunID, Delivery: delivery.Delivery, Stream: stream,
		Applied: counts.Applied, Skipped: counts.Skipped, DeadLettered: counts.DeadLettered, Disputed: counts.Disputed, Total: counts.Total(),
		FirstAt: timeOrNull(first), LastAt: timeOrNull(last),
	}
}

func writeDeliveries(w io.Writer, list []deliveryCounts) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was settled.")
		return err
	}
	t := newTable(w, "RUN", "DELIVERY", "STREAM", "APPLIED", "SKIPPED", "DEAD", "DISPUTED", "TOTAL", "FIRST", "LAST")
	alignRight(t, 4, 5, 6, 7, 8)
	for _, d := range list {
		t.AppendRow(table.Row{
			shownName(d.RunID), shownName(d.Delivery), shownName(d.Stream), grouped(d.Applied), grouped(d.Skipped), grouped(d.DeadLettered), grouped(d.Disputed), grouped(d.Total),
			clock(d.FirstAt), clock(d.LastAt),
		})
	}
	t.Render()
	return nil
}

// shownName makes a name that a stranger may have chosen fit for a column: what
// isn't there is a dash, what isn't printable is quoted.
func shownName(name string) string {
	switch {
	case name == "":
		return "-"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(name)
	}
	return name
}
