package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/runs"
)

// runsShowFlags are the flags of runs show that are nobody else's.
type runsShowFlags struct{ delivery string }

func newRunsShowCommand(a *app) *cobra.Command {
	var flags runsShowFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: what became of its records, and what hasn't arrived yet",
		Long: `Show what became of a run's records, and whether all of them have arrived. What was sent is read from the manifests with which producers end each delivery,
on the topic ` + producer.ManifestTopic + `; what has arrived is what the ledger has counted, to each partition, and what its quantities add up to.

The exit code is 0 if the run is complete, and then only; 3 if something is missing or doesn't add up, a delivery was aborted, or no manifest says that it has ended.
Without brokers and registry-url the counts are shown all the same; whether they're complete can't be told then, and the exit code is 1.`,
		Example: `  tieout runs show december
  tieout runs show december --delivery 01K5AZ3J8N6V0Q2X4R7T9W1Y3B
  tieout runs show december --format json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config(cmd, "database-url")
			if err != nil {
				return err
			}
			return a.showRun(cmd.Context(), cfg, args[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.delivery, "delivery", "", "only this `DELIVERY` of the run")
	return cmd
}

// errNoManifests is why completeness is unknown where nobody said where
// manifests are.
var errNoManifests = errors.New("whether the run is complete is unknown: set brokers and registry-url, so that its manifests can be read")

// A shownRun is what runs show prints.
type shownRun struct {
	RunID    string      `json:"run_id"`
	Complete bool        `json:"complete"`
	Known    bool        `json:"manifests_read"` // false: Kafka isn't configured
	Parts    []shownPart `json:"deliveries"`
	// Strangers are records under the run's key that are no manifests.
	Strangers int `json:"unreadable_manifests"`
}

// A shownPart is one delivery on one topic.
type shownPart struct {
	deliveryCounts
	Topic    string     `json:"topic"`
	State    runs.State `json:"state"`
	Sent     *int64     `json:"sent"`     // null: no manifest says
	Rejected *int64     `json:"rejected"` // the same; lines

	Differing  []shownPartition `json:"differing_partitions"`
	ControlSum *shownSum        `json:"control_sum"` // null: there is none
	SentAgain  string           `json:"sent_again_by,omitempty"`

	missing int64
}

// A shownPartition is one on which other than what was sent has arrived.
type shownPartition struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Sent      int64             `json:"sent"`
	Arrived   int64             `json:"arrived"`
	Missing   int64             `json:"missing"` // negative: more than was sent
	Halted    ledger.HaltReason `json:"halted,omitempty"`
}

// A shownSum compares a control sum with what has arrived.
type shownSum struct {
	Quantity     string `json:"quantity"`
	Sent         string `json:"sent"`
	Applied      string `json:"applied"`
	Skipped      string `json:"skipped"`
	DeadLettered string `json:"dead_lettered"`
	Difference   string `json:"difference"`         // sent less the other three
	Unmeasured   int64  `json:"unmeasured_records"` // whose quantity is in none of them
}

func (a *app) showRun(ctx context.Context, cfg *config, runID string, flags runsShowFlags) error {
	known := len(cfg.Brokers) > 0 && cfg.RegistryURL != ""
	facts := runs.Facts{StreamOf: cfg.streamOf}
	var read runManifests
	var err error
	if known {
		// Before the counts, so that what arrives meanwhile is never missing.
		if read, err = a.readManifests(ctx, cfg, runID); err != nil {
			return err
		}
		facts.Manifests = read.manifests
	}
	if err := readCounts(ctx, cfg, runID, &facts); err != nil {
		return err
	}
	parts, err := selectParts(runs.Assess(facts), runID, flags.delivery)
	if err != nil {
		return err
	}
	shown := shownRun{RunID: runID, Complete: known && runs.Done(parts), Known: known, Parts: showParts(parts), Strangers: read.strangers}
	if err := a.print(cfg, shown, func(w io.Writer) error { return writeRun(w, &shown) }); err != nil {
		return err
	}
	switch {
	case !known:
		return errNoManifests
	case !shown.Complete:
		return foundf("run %s isn't complete: %s", shownName(runID), shown.reasons())
	}
	return nil
}

// readCounts reads what the ledger knows of a run.
func readCounts(ctx context.Context, cfg *config, runID string, facts *runs.Facts) error {
	reader, err := openReader(ctx, cfg, "tieout runs show")
	if err != nil {
		return err
	}
	defer reader.Close(ctx)
	if facts.Tallies, err = reader.Run(ctx, runID); err != nil {
		return err
	}
	facts.Halts, err = reader.Halts(ctx)
	return err
}

// selectParts keeps those of one delivery, where one is named.
func selectParts(parts []runs.Part, runID, delivery string) ([]runs.Part, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is no run %s: nothing of it was settled, and no manifest names it", shownName(runID))
	}
	if delivery == "" {
		return parts, nil
	}
	var deliveries []string
	selected := slices.DeleteFunc(slices.Clone(parts), func(p runs.Part) bool {
		deliveries = append(deliveries, shownName(p.Delivery.Delivery))
		return p.Delivery.Delivery != delivery
	})
	if len(selected) == 0 {
		return nil, fmt.Errorf("run %s has no delivery %s: it has %s", shownName(runID), shownName(delivery), strings.Join(slices.Compact(deliveries), ", "))
	}
	return selected, nil
}

func showParts(parts []runs.Part) []shownPart {
	shown := make([]shownPart, 0, len(parts))
	for i := range parts {
		shown = append(shown, showPart(&parts[i]))
	}
	return shown
}

func showPart(p *runs.Part) shownPart {
	shown := shownPart{
		deliveryCounts: newDeliveryCounts(p.Delivery, p.Stream, p.Counts, p.First, p.Last),
		Topic:          p.Topic, State: p.State, Differing: []shownPartition{}, SentAgain: p.SentAgain, missing: p.Missing(),
	}
	if p.Manifest != nil {
		shown.Sent, shown.Rejected = &p.Manifest.Sent, &p.Manifest.Rejected
	}
	for _, d := range p.Differing {
		shown.Differing = append(shown.Differing, shownPartition{p.Topic, d.Partition, d.Sent, d.Arrived, d.Sent - d.Arrived, d.Halted})
	}
	if rest, ok := p.Unexplained(); ok && p.State != runs.Unsettled {
		shown.ControlSum = &shownSum{
			Quantity: p.Manifest.Quantity, Sent: p.Manifest.ControlSum.String(),
			Applied: p.Quantities.Applied.String(), Skipped: p.Quantities.Skipped.String(), DeadLettered: p.Quantities.DeadLettered.String(),
			Difference: rest.String(), Unmeasured: p.Quantities.Unmeasured,
		}
	}
	return shown
}

// timeOrNull makes a time that isn't one null.
func timeOrNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// reasons names what keeps the run from being complete, once each.
func (r *shownRun) reasons() string {
	var reasons []string
	for i := range r.Parts {
		if reason := r.Parts[i].reason(); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, ", ")
}

func (p *shownPart) reason() string {
	switch p.State {
	case runs.Incomplete:
		return counted(p.missing, "record") + " missing"
	case runs.Differs:
		return "what has arrived isn't what was sent"
	case runs.Aborted:
		if p.SentAgain == "" {
			return "a delivery was aborted"
		}
		if p.missing > 0 {
			return counted(p.missing, "record") + " missing"
		}
	case runs.Unknown:
		return "a delivery has no manifest"
	case runs.Complete, runs.Unsettled:
	}
	return ""
}
