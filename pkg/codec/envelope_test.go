package codec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams/sales"
)

type (
	envelope = sales.Envelope
	payload  = sales.Payload
)

// usual is an envelope of the usual size.
func usual() envelope {
	return envelope{
		MessageID:         "01JDXK2V6WQ3Z6B8R7N1M5T4C9",
		ReconciliationKey: "4f0c1d0a3f6be2f7dd4bd6a3b1a9a7c3a1c4d84b5a3a1f2f9a4f7c6de1b2a390",
		CorrelationID:     "01JDXK2V6WQ3Z6B8R7N1M5T4CA",
		VendorID:          "V013",
		ClaimPeriod:       "2010-Q4",
		AgreementVersion:  3,
		QueueTier:         "compute_heavy",
		Payload: payload{
			StoreID:         "United Kingdom",
			RetailerInvoice: "536365",
			LineItemHash:    "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
			PromoTier:       "GOLD",
			QualifyingUnits: []byte{0x01, 0x65, 0xa0, 0xbc, 0x00},
			TierRate:        []byte{0x00, 0xf4, 0x24, 0x00},
			ClaimedAmount:   []byte{0x02, 0xfa, 0xf0, 0x80},
			Currency:        "GBP",
			TransactionDate: 1291191960000000,
		},
	}
}

// outcome holds an outcome as its publisher does.
type outcome struct {
	ReconciliationKey string  `avro:"reconciliation_key"`
	Version           int64   `avro:"version"`
	Revision          int32   `avro:"revision"`
	RunKind           string  `avro:"run_kind"`
	Outcome           string  `avro:"outcome"`
	Amount            []byte  `avro:"amount"`
	Claimed           *[]byte `avro:"claimed"`
	Difference        []byte  `avro:"difference"`
	Currency          string  `avro:"currency"`
	PrevVersion       *int64  `avro:"prev_version"`
	PrevAmount        []byte  `avro:"prev_amount"`
}

// decoderOf makes a decoder of a writer's schema into envelopes.
func decoderOf(t testing.TB, writerSchema string) settle.Decoder {
	t.Helper()
	reader, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{})
	require.NoError(t, err)
	decoder, err := reader.Decoder(1, writerSchema)
	require.NoError(t, err)
	return decoder
}

// bodyOf encodes a value.
func bodyOf(t testing.TB, schema string, v any) []byte {
	t.Helper()
	encoder, err := NewEncoder(schema, 1)
	require.NoError(t, err)
	value, err := encoder.Append(nil, v)
	require.NoError(t, err)
	return value[headerBytes:]
}

// usualBody is the body of the usual envelope.
func usualBody(t testing.TB) []byte {
	e := usual()
	return bodyOf(t, schemas.SalesEnvelope, &e)
}
