package trades

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle/settletest"
)

type arrival = settletest.Arrival[Envelope]

// goodArrival is 10.73 MWh at 24.7 that settle.
func goodArrival(tb testing.TB) *arrival {
	tb.Helper()
	a := &arrival{Stream: New(), SetKey: func(e *Envelope, key string) { e.ReconciliationKey = key }, Envelope: Envelope{
		MessageID:          "01JDVQ0000000000000000000Z",
		CorrelationID:      "C-1",
		TradeID:            "PT1-0112",
		Version:            1,
		NodeID:             "N.Y.C.",
		SettlementInterval: "2019-11-03T05:00:00Z",
		MWh:                settletest.Unscaled(tb, "10.73"),
		Price:              settletest.Unscaled(tb, "24.7"),
		Currency:           "USD",
	}}
	require.NoError(tb, a.Seal())
	return a
}
