package main

import (
	"github.com/spf13/cobra"
)

func newBenchCommand(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:     "bench",
		Short:   "Measure tieout on this machine",
		Example: `  tieout bench settle`,
	}, newBenchSettleCommand(a))
}
