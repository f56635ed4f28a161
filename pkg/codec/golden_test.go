package codec

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/schemas"
)

// testdata/golden.py made cases.json and verifies tieout.json; both are run by
// hand when a schema changes, with -update in between.
var update = flag.Bool("update", false, "write testdata/tieout.json anew")

type goldenCases struct {
	Writers map[string]json.RawMessage
	Cases   []goldenCase
}

type goldenCase struct {
	Writer string
	Value  json.RawMessage
	Body   string
}

func readCases(t *testing.T) goldenCases {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "cases.json"))
	require.NoError(t, err)
	var cases goldenCases
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Greater(t, len(cases.Cases), 200)
	return cases
}

func TestBodiesFromFastavroDecodeToTheirValues(t *testing.T) {
	cases := readCases(t)
	for number, c := range cases.Cases {
		body, err := hex.DecodeString(c.Body)
		require.NoError(t, err)
		t.Run(fmt.Sprintf("%03d_%s", number, c.Writer), func(t *testing.T) {
			writer := string(cases.Writers[c.Writer])
			if c.Writer == "outcome" {
				reader, err := NewReader(schemas.Outcome, outcome{}, ReaderOptions{})
				require.NoError(t, err)
				decoder, err := reader.Decoder(1, writer)
				require.NoError(t, err)
				var got outcome
				require.NoError(t, decoder.Decode(body, &got))
				require.Equal(t, shortOutcome(t, readOutcome(t, c.Value)), shortOutcome(t, got))
				return
			}
			var got envelope
			require.NoError(t, decoderOf(t, writer).Decode(body, &got))
			require.Equal(t, shortEnvelope(t, readEnvelope(t, c.Value)), shortEnvelope(t, got))
		})
	}
}

func TestBodiesThatFastavroVerifiedAreStillTheOnesWeWrite(t *testing.T) {
	var got []string
	for _, c := range readCases(t).Cases {
		switch c.Writer {
		case "sales_envelope":
			e := readEnvelope(t, c.Value)
			got = append(got, hex.EncodeToString(bodyOf(t, schemas.SalesEnvelope, &e)))
		case "outcome":
			o := readOutcome(t, c.Value)
			got = append(got, hex.EncodeToString(bodyOf(t, schemas.Outcome, &o)))
		}
	}
	path := filepath.Join("testdata", "tieout.json")
	if *update {
		text, err := json.MarshalIndent(got, "", "")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var want []string
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, got)
}

// unscaled returns a decimal's bytes; none for null.
func unscaled(t *testing.T, text *string, scale int32) []byte {
	t.Helper()
	if text == nil {
		return nil
	}
	d, err := money.Parse(*text)
	require.NoError(t, err)
	b, err := d.AppendUnscaled(nil, scale)
	require.NoError(t, err)
	return b
}

// shortest takes a decimal's needless sign bytes away: fastavro writes one
// before some negative numbers.
func shortest(t *testing.T, b []byte, scale int32) []byte {
	t.Helper()
	if b == nil {
		return nil
	}
	d, err := money.FromUnscaled(b, scale)
	require.NoError(t, err)
	b, err = d.AppendUnscaled(nil, scale)
	require.NoError(t, err)
	return b
}

func shortEnvelope(t *testing.T, e envelope) envelope {
	t.Helper()
	for _, b := range []*[]byte{&e.Payload.QualifyingUnits, &e.Payload.TierRate, &e.Payload.ClaimedAmount} {
		*b = shortest(t, *b, 9)
	}
	return e
}

func shortOutcome(t *testing.T, o outcome) outcome {
	t.Helper()
	o.Amount, o.PrevAmount, o.Difference = shortest(t, o.Amount, 2), shortest(t, o.PrevAmount, 2), shortest(t, o.Difference, 9)
	if o.Claimed != nil {
		claimed := shortest(t, *o.Claimed, 9)
		o.Claimed = &claimed
	}
	return o
}

func readEnvelope(t *testing.T, text []byte) envelope {
	t.Helper()
	var v struct {
		MessageID         string  `json:"message_id"`
		ReconciliationKey string  `json:"reconciliation_key"`
		CorrelationID     string  `json:"correlation_id"`
		VendorID          string  `json:"vendor_id"`
		ClaimPeriod       string  `json:"claim_period"`
		AgreementVersion  int32   `json:"agreement_version"`
		QueueTier         *string `json:"queue_tier"`
		Payload           struct {
			StoreID         string    `json:"store_id"`
			RetailerInvoice string    `json:"retailer_invoice"`
			LineItemHash    string    `json:"line_item_hash"`
			PromoTier       string    `json:"promo_tier"`
			QualifyingUnits *string   `json:"qualifying_units"`
			TierRate        *string   `json:"tier_rate"`
			ClaimedAmount   *string   `json:"claimed_amount"`
			Currency        string    `json:"currency"`
			TransactionDate time.Time `json:"transaction_date"`
		} `json:"payload"`
	}
	require.NoError(t, json.Unmarshal(text, &v))
	tier := "compute_heavy" // the schema's default
	if v.QueueTier != nil {
		tier = *v.QueueTier
	}
	p := v.Payload
	return envelope{
		MessageID: v.MessageID, ReconciliationKey: v.ReconciliationKey, CorrelationID: v.CorrelationID,
		VendorID: v.VendorID, ClaimPeriod: v.ClaimPeriod, AgreementVersion: v.AgreementVersion, QueueTier: tier,
		Payload: payload{
			StoreID: p.StoreID, RetailerInvoice: p.RetailerInvoice, LineItemHash: p.LineItemHash, PromoTier: p.PromoTier,
			QualifyingUnits: unscaled(t, p.QualifyingUnits, 9), TierRate: unscaled(t, p.TierRate, 9),
			ClaimedAmount: unscaled(t, p.ClaimedAmount, 9), Currency: p.Currency,
			TransactionDate: p.TransactionDate.UnixMicro(),
		},
	}
}

func readOutcome(t *testing.T, text []byte) outcome {
	t.Helper()
	var v struct {
		ReconciliationKey string  `json:"reconciliation_key"`
		Version           int64   `json:"version"`
		Revision          int32   `json:"revision"`
		RunKind           string  `json:"run_kind"`
		Outcome           string  `json:"outcome"`
		Amount            *string `json:"amount"`
		Claimed           *string `json:"claimed"`
		Difference        *string `json:"difference"`
		Currency          string  `json:"currency"`
		PrevVersion       *int64  `json:"prev_version"`
		PrevAmount        *string `json:"prev_amount"`
	}
	require.NoError(t, json.Unmarshal(text, &v))
	o := outcome{
		ReconciliationKey: v.ReconciliationKey, Version: v.Version, Revision: v.Revision, RunKind: v.RunKind,
		Outcome: v.Outcome, Amount: unscaled(t, v.Amount, 2), Difference: unscaled(t, v.Difference, 9),
		Currency: v.Currency, PrevVersion: v.PrevVersion, PrevAmount: unscaled(t, v.PrevAmount, 2),
	}
	if v.Claimed != nil {
		claimed := unscaled(t, v.Claimed, 9)
		o.Claimed = &claimed
	}
	return o
}
