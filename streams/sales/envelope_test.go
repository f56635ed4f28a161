package sales

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// handOver is a decoder that hands a prepared envelope over: what Settle does
// is tested here, what Avro does in pkg/codec.
type handOver struct {
	envelope Envelope
	err      error
}

func (d *handOver) Decode(_ []byte, into any) error {
	envelope, ok := into.(*Envelope)
	if !ok {
		return fmt.Errorf("%T isn't what the schema is decoded into", into)
	}
	*envelope = d.envelope
	return d.err
}

// An arrival is one record with what its decoder will say.
type arrival struct {
	record  settle.Record
	decoder handOver
}

func (a *arrival) envelope() *Envelope { return &a.decoder.envelope }

func (a *arrival) settle() (settle.Posting, *settle.Failure) {
	return New().Settle(&a.record, nil, &a.decoder)
}

// seal gives envelope and record the key of the envelope's identity.
func (a *arrival) seal() {
	key, failure := a.envelope().key()
	if failure == nil {
		a.envelope().ReconciliationKey = key.Hex()
	}
	a.record.Key = []byte(a.envelope().ReconciliationKey)
}

// goodArrival is a claim of 2.5 units at 0.75 that settles.
func goodArrival(tb testing.TB) *arrival {
	tb.Helper()
	a := &arrival{decoder: handOver{envelope: Envelope{
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
			QualifyingUnits: unscaled(tb, "2.5"),
			TierRate:        unscaled(tb, "0.75"),
			Currency:        "GBP",
			TransactionDate: 1_291_191_960_000_000,
		},
	}}}
	a.seal()
	return a
}

func unscaled(tb testing.TB, text string) []byte {
	tb.Helper()
	bytes, err := money.MustParse(text).AppendUnscaled(nil, DecimalScale)
	require.NoError(tb, err)
	return bytes
}
