package main

import (
	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/producer"
)

func newProduceTradesCommand(a *app) *cobra.Command {
	lines := producer.TradeLines{}
	return newProduceLinesCommand(a, lines, &produceFlags{}, &cobra.Command{
		Use:   "trades FILE",
		Short: "Send a file of energy trade versions",
		Long: `Send a file of energy trade versions: CSV, gzipped or not, in UTF-8, with a header. Its columns, in any order, are
` + columnList(lines.Columns().Required) + `,
and where the source has them
` + columnList(lines.Columns().Optional) + `.
Other columns are passed over.

A version that is empty is taken from last_modified: its microseconds since 1970. An interval is named by its start, with a zone and without a fraction of a second; whatever the zone, it is the same interval.`,
		Example: `  tieout produce trades trades.csv.gz
  tieout produce trades trades.csv --dry-run  # check it, and send nothing
  tieout produce trades trades.csv --strict   # all lines or none`,
	})
}
