package streams

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

func TestLanes_SettleSalesFromTwoTopicsIntoOneLedger(t *testing.T) {
	lanes := Lanes()
	require.Len(t, lanes, 2)
	require.Equal(t, "validate", lanes[0].Name)
	require.Equal(t, "recon.validate", lanes[0].Topic)
	require.Equal(t, "accrue", lanes[1].Name)
	require.Equal(t, "recon.accrue", lanes[1].Topic)
	for _, lane := range lanes {
		require.Equal(t, "sales", lane.Stream.Name())
		require.Equal(t, "sales_ledger", lane.Stream.Table().Name)
		require.Equal(t, settle.OutcomeTopics{AutoPost: "recon.autopost", Dispute: "recon.dispute", DeadLetter: "recon.dlq"}, lane.Topics)
	}
}
