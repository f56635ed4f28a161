package streams

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

func TestLanes_SettleSalesFromTwoTopicsIntoOneLedgerAndTradesAndFindingsFromOneEach(t *testing.T) {
	ofClaims := settle.OutcomeTopics{AutoPost: "recon.autopost", Dispute: "recon.dispute", DeadLetter: "recon.dlq"}
	ofTrades := settle.OutcomeTopics{AutoPost: "etrm.autopost", DeadLetter: "etrm.dlq"}
	ofFindings := settle.OutcomeTopics{Dispute: "etrm.dispute", DeadLetter: "etrm.dlq"}
	want := []struct {
		lane, topic, stream, ledger string
		outcomes                    settle.OutcomeTopics
	}{
		{"validate", "recon.validate", "sales", "sales_ledger", ofClaims},
		{"accrue", "recon.accrue", "sales", "sales_ledger", ofClaims},
		{"trades", "etrm.trades", "trades", "trade_ledger", ofTrades},
		{"findings", "etrm.findings", "findings", "dispute", ofFindings},
	}
	lanes := Lanes()
	require.Len(t, lanes, len(want))
	for i, lane := range lanes {
		require.Equal(t, want[i].lane, lane.Name)
		require.Equal(t, want[i].topic, lane.Topic)
		require.Equal(t, want[i].stream, lane.Stream.Name())
		require.Equal(t, want[i].ledger, lane.Stream.Table().Name)
		require.Equal(t, want[i].outcomes, lane.Topics)
	}
}
