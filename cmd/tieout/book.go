package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams"
)

// lanesOf are the lanes of one stream. They have one ledger, and outcome topics
// in common.
func lanesOf(stream string) []settle.Lane {
	return slices.DeleteFunc(streams.Lanes(), func(lane settle.Lane) bool { return lane.Stream.Name() != stream })
}

// openBook opens a lane's ledger to read it, as a worker may. command is whose
// connection it is.
func openBook(ctx context.Context, cfg *config, lane settle.Lane, command string, logger *slog.Logger) (*ledger.Ledger, error) {
	return ledger.Open(ctx, ledger.Options{
		URL: cfg.DatabaseURL, Schema: cfg.Schema, Role: cfg.WorkerRole,
		ConsumerGroup: cfg.GroupPrefix + lane.Topic, Table: lane.Stream.Table(), Stream: lane.Stream.Name(),
		MaxConns: 1, ApplicationName: "tieout " + command, Logger: logger,
	})
}
