package sales

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle/settletest"
)

type arrival = settletest.Arrival[Envelope]

// goodArrival is a claim of 2.5 units at 0.75 that settles.
func goodArrival(tb testing.TB) *arrival {
	tb.Helper()
	a := &arrival{Stream: New(), SetKey: func(e *Envelope, key string) { e.ReconciliationKey = key }, Envelope: Envelope{
		MessageID:        "01JDVQ0000000000000000000Z",
		CorrelationID:    "C-1",
		VendorID:         "V064",
		ClaimPeriod:      "2010-Q4",
		AgreementVersion: 6,
		QueueTier:        "fast_path",
		Payload: Payload{
			StoreID:         "STORE-1",
			RetailerInvoice: "PL1-0089",
			LineItemHash:    "e5e8eb16e7416cc0652176411e8da48e",
			PromoTier:       "GOLD",
			QualifyingUnits: settletest.Unscaled(tb, "2.5"),
			TierRate:        settletest.Unscaled(tb, "0.75"),
			Currency:        "GBP",
			TransactionDate: 1_291_191_960_000_000,
		},
	}}
	require.NoError(tb, a.Seal())
	return a
}
