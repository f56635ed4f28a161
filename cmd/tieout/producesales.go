package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/producer"
)

func newProduceSalesCommand(a *app) *cobra.Command {
	lines := producer.SalesLines{}
	flags := &produceFlags{}
	cmd := newProduceLinesCommand(a, lines, flags, &cobra.Command{
		Use:   "sales FILE",
		Short: "Send a file of vendor claim lines",
		Long: `Send a file of vendor claim lines: CSV, gzipped or not, in UTF-8, with a header. Its columns, in any order, are
` + columnList(lines.Columns().Required) + `.
Other columns are passed over.`,
		Example: `  tieout produce sales claims.csv.gz
  tieout produce sales claims.csv --dry-run           # check it, and send nothing
  tieout produce sales claims.csv --strict            # all lines or none
  tieout produce sales claims.csv --tier fast_path --vendors vendors.csv`,
	})
	cmd.Flags().StringVar(&flags.tier, "tier", string(producer.ComputeHeavy), "`TIER`, which picks the lane to send to: "+tierList())
	cmd.Flags().StringVar(&flags.vendors, "vendors", "", "`FILE` of the vendors that may claim: one a line, or CSV with a column vendor_id (default: all may)")
	return cmd
}

func tierList() string {
	names := make([]string, 0, len(producer.Tiers()))
	for _, tier := range producer.Tiers() {
		names = append(names, string(tier))
	}
	return strings.Join(names, ", ")
}
