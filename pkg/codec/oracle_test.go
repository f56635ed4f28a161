package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
	oracle "github.com/twmb/avro"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/schemas"
)

// anyEnvelope draws an envelope with every value that the schema allows, bad
// UTF-8 among them.
func anyEnvelope(t *rapid.T) envelope {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }))
	decimal := rapid.SliceOfN(rapid.Byte(), 1, 17)
	e := envelope{
		MessageID:         text.Draw(t, "message_id"),
		ReconciliationKey: text.Draw(t, "reconciliation_key"),
		CorrelationID:     text.Draw(t, "correlation_id"),
		VendorID:          text.Draw(t, "vendor_id"),
		ClaimPeriod:       text.Draw(t, "claim_period"),
		AgreementVersion:  rapid.Int32().Draw(t, "agreement_version"),
		QueueTier:         rapid.SampledFrom([]string{"fast_path", "compute_heavy", "dead_letter"}).Draw(t, "queue_tier"),
		Payload: payload{
			StoreID:         text.Draw(t, "store_id"),
			RetailerInvoice: text.Draw(t, "retailer_invoice"),
			LineItemHash:    text.Draw(t, "line_item_hash"),
			PromoTier:       text.Draw(t, "promo_tier"),
			QualifyingUnits: decimal.Draw(t, "qualifying_units"),
			TierRate:        decimal.Draw(t, "tier_rate"),
			Currency:        text.Draw(t, "currency"),
			TransactionDate: rapid.Int64().Draw(t, "transaction_date"),
		},
	}
	if rapid.Bool().Draw(t, "claims") {
		e.Payload.ClaimedAmount = decimal.Draw(t, "claimed_amount")
	}
	return e
}

// bareSchema is the envelope's schema for the oracle, without logical types: it
// would hand decimals over as rationals, whose bytes nobody sees.
func bareSchema(t testing.TB) *oracle.Schema {
	t.Helper()
	s, err := parseSchema(schemas.SalesEnvelope)
	require.NoError(t, err)
	return bare(t, s)
}

func bare(t testing.TB, s *schema) *oracle.Schema {
	t.Helper()
	stripLogical(s)
	text, err := s.text(false)
	require.NoError(t, err)
	parsed, err := oracle.Parse(text)
	require.NoError(t, err)
	return parsed
}

func stripLogical(s *schema) {
	s.logical = ""
	for _, branch := range s.branches {
		stripLogical(branch)
	}
	for i := range s.fields {
		stripLogical(s.fields[i].typ)
	}
}

func TestWhatWeEncodeTheOracleDecodesEqualAndTheReverse(t *testing.T) {
	theirs, decoder := bareSchema(t), decoderOf(t, schemas.SalesEnvelope)
	encoder, err := NewEncoder(schemas.SalesEnvelope, 7)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		want := anyEnvelope(t)
		value, err := encoder.Append(nil, &want)
		require.NoError(t, err)
		id, body, err := SplitWire(value)
		require.NoError(t, err)
		require.Equal(t, 7, id)

		var got envelope
		rest, err := theirs.Decode(body, &got)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, want, got)

		written, err := theirs.AppendEncode(nil, &want)
		require.NoError(t, err)
		require.Equal(t, body, written)
		var back envelope
		require.NoError(t, decoder.Decode(written, &back))
		require.Equal(t, want, back)
	})
}

func TestADecodedValueKeepsNothingOfTheOneBefore(t *testing.T) {
	decoder := decoderOf(t, schemas.SalesEnvelope)
	encoder, err := NewEncoder(schemas.SalesEnvelope, 7)
	require.NoError(t, err)
	var reused envelope
	rapid.Check(t, func(t *rapid.T) {
		want := anyEnvelope(t)
		value, err := encoder.Append(nil, want)
		require.NoError(t, err)
		require.NoError(t, decoder.Decode(value[headerBytes:], &reused))
		require.Equal(t, want, reused)
	})
}

func TestDecodingAllocatesNextToNothing(t *testing.T) {
	decoder, body := decoderOf(t, schemas.SalesEnvelope), usualBody(t)
	var got envelope
	allocations := testing.AllocsPerRun(1000, func() {
		if err := decoder.Decode(body, &got); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, allocations, 6.0) // 1, and more with the race detector, which empties pools
}
