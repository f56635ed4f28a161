package producer

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// testdata is the project's folder of files that packages share.
const testdata = "../../testdata"

func goodClaim() SalesClaim {
	return SalesClaim{
		VendorID: "V1", StoreID: "STORE-1", RetailerInvoice: "INV-1", LineItemHash: "hash", PromoTier: "GOLD",
		ClaimPeriod: "2010-Q4", AgreementVersion: "3", QualifyingUnits: "6", TierRate: "0.051", ClaimedAmount: "-0.31",
		Currency: "GBP", TransactionDate: "2010-12-01T08:26:00.000001+01:00", CorrelationID: "mine",
	}
}

func testBuilder(t *testing.T, change func(*Options)) *SalesBuilder {
	t.Helper()
	options := Options{RunID: "run"}
	if change != nil {
		change(&options)
	}
	builder, err := NewSalesBuilder(options)
	require.NoError(t, err)
	return builder
}

func TestBuild_MakesTheEnvelopeOfAClaim(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_700_000_000_000)
	builder := testBuilder(t, func(o *Options) {
		o.Tier, o.Now, o.Entropy = FastPath, func() time.Time { return start }, zeros{}
		o.Delivery = ulid.MustNew(1, zeros{}).String()
	})
	claim := goodClaim()
	got, failure, err := builder.Build(&claim)
	require.NoError(t, err)
	require.Nil(t, failure)
	require.Empty(t, cmp.Diff(&sales.Envelope{
		MessageID: "01HF7YAT000000000000000000",
		// printf 'INV-1|hash|GOLD|2010-Q4' | sha256sum
		ReconciliationKey: "a9b2f1aad16bd8795ec5db75c63fd7fd97e4c8ee8c5b985dec3d2a5a4e54daf2",
		CorrelationID:     "mine",
		VendorID:          "V1",
		ClaimPeriod:       "2010-Q4",
		AgreementVersion:  3,
		QueueTier:         "fast_path",
		Payload: sales.Payload{
			StoreID: "STORE-1", RetailerInvoice: "INV-1", LineItemHash: "hash", PromoTier: "GOLD",
			QualifyingUnits: []byte{0x01, 0x65, 0xa0, 0xbc, 0x00}, // 6e9
			TierRate:        []byte{0x03, 0x0a, 0x32, 0xc0},       // 51e6
			ClaimedAmount:   []byte{0xed, 0x85, 0xc6, 0x80},       // -310e6
			Currency:        "GBP",
			TransactionDate: 1_291_188_360_000_001,
		},
	}, got))

	claim.CorrelationID, claim.ClaimedAmount = "", ""
	got, failure, err = builder.Build(&claim)
	require.NoError(t, err)
	require.Nil(t, failure)
	require.Equal(t, got.MessageID, got.CorrelationID, "a claim can always be followed")
	require.Nil(t, got.Payload.ClaimedAmount, "nothing is claimed")
}

// zeros is a source of entropy without any.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBuild_MessageIDsAreULIDsThatOnlyGrow(t *testing.T) {
	t.Parallel()
	now := time.Now()
	builder := testBuilder(t, func(o *Options) {
		o.Now = func() time.Time { now = now.Add(-time.Millisecond); return now } // a clock that is set back
	})
	claim := goodClaim()
	last := ""
	for range 10_000 {
		envelope, failure, err := builder.Build(&claim)
		require.NoError(t, err)
		require.Nil(t, failure)
		require.Greater(t, envelope.MessageID, last)
		last = envelope.MessageID
	}
}

func TestBuild_EntropyThatFailsIsNoFaultOfTheClaim(t *testing.T) {
	t.Parallel()
	builder := testBuilder(t, func(o *Options) {
		o.Delivery = ulid.Make().String()
		o.Entropy = io.LimitReader(zeros{}, 4)
	})
	claim := goodClaim()
	_, failure, err := builder.Build(&claim)
	require.Nil(t, failure)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestBuild_RefusesWhatIsNoClaim(t *testing.T) {
	t.Parallel()
	builder := testBuilder(t, func(o *Options) { o.Vendors = Vendors{"V1": {}} })
	requireRefused(t, goodClaim, builder.Build, map[string]refusal[SalesClaim]{
		"version missing":      {func(c *SalesClaim) { c.AgreementVersion = "" }, "missing_field agreement_version"},
		"version signed":       {func(c *SalesClaim) { c.AgreementVersion = "+1" }, "invalid_agreement_version agreement_version"},
		"version latest":       {func(c *SalesClaim) { c.AgreementVersion = "latest" }, "invalid_agreement_version agreement_version"},
		"units missing":        {func(c *SalesClaim) { c.QualifyingUnits = "" }, "missing_field qualifying_units"},
		"rate grouped":         {func(c *SalesClaim) { c.TierRate = "1,000" }, "not_a_decimal tier_rate"},
		"claim with a space":   {func(c *SalesClaim) { c.ClaimedAmount = " " }, "not_a_decimal claimed_amount"},
		"claim too fine":       {func(c *SalesClaim) { c.ClaimedAmount = "0.1234567890" }, "too_many_fraction_digits claimed_amount"},
		"units too large":      {func(c *SalesClaim) { c.QualifyingUnits = strings.Repeat("9", 30) }, "out_of_range qualifying_units"},
		"date missing":         {func(c *SalesClaim) { c.TransactionDate = "" }, "missing_field transaction_date"},
		"date":                 {func(c *SalesClaim) { c.TransactionDate = "2010-12-01" }, "invalid_date transaction_date"},
		"year 0 in UTC":        {func(c *SalesClaim) { c.TransactionDate = "0001-01-01T00:00:00+01:00" }, "invalid_date transaction_date"},
		"vendor missing":       {func(c *SalesClaim) { c.VendorID = "" }, "missing_field vendor_id"},
		"currency missing":     {func(c *SalesClaim) { c.Currency = "" }, "missing_field currency"},
		"store too long":       {func(c *SalesClaim) { c.StoreID = strings.Repeat("é", 129) }, "field_too_long store_id"},
		"invoice not UTF-8":    {func(c *SalesClaim) { c.RetailerInvoice = "\xe9" }, "invalid_text retailer_invoice"},
		"hash with NUL":        {func(c *SalesClaim) { c.LineItemHash = "a\x00b" }, "invalid_text line_item_hash"},
		"tier with separator":  {func(c *SalesClaim) { c.PromoTier = "GOLD|X" }, "separator_in_key_part promo_tier"},
		"period":               {func(c *SalesClaim) { c.ClaimPeriod = "2010-P14" }, "invalid_claim_period claim_period"},
		"vendor not mapped":    {func(c *SalesClaim) { c.VendorID = "V2" }, "unmapped_vendor vendor_id"},
		"numbers before texts": {func(c *SalesClaim) { c.VendorID, c.TierRate = "", "x" }, "not_a_decimal tier_rate"},
		"texts before vendors": {func(c *SalesClaim) { c.VendorID, c.StoreID = "V2", "" }, "missing_field store_id"},
	})
}

// A refusal is what makes a line no record, and what it's called.
type refusal[L any] struct {
	change func(*L)
	want   string // reason and field
}

// requireRefused holds a builder against lines that have one thing wrong.
func requireRefused[L, E any](t *testing.T, good func() L, build func(*L) (*E, *settle.Failure, error), refusals map[string]refusal[L]) {
	t.Helper()
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			line := good()
			test.change(&line)
			envelope, failure, err := build(&line)
			require.NoError(t, err)
			require.Nil(t, envelope)
			require.NotNil(t, failure)
			require.Equal(t, test.want, string(failure.Reason)+" "+failure.Field)
			require.Equal(t, settle.ReasonOutOfRange == failure.Reason, settle.ClassBusiness == failure.Class)
		})
	}
}

// requireBuilt holds a builder against lines that have nothing wrong with their
// form.
func requireBuilt[L, E any](t *testing.T, good func() L, build func(*L) (*E, *settle.Failure, error), changes map[string]func(*L)) {
	t.Helper()
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			line := good()
			change(&line)
			envelope, failure, err := build(&line)
			require.NoError(t, err)
			require.Nil(t, failure)
			require.NotNil(t, envelope)
		})
	}
}

// What is content, and not form, becomes a record: the worker judges it.
func TestBuild_LeavesContentToTheWorker(t *testing.T) {
	t.Parallel()
	requireBuilt(t, goodClaim, testBuilder(t, nil).Build, map[string]func(*SalesClaim){
		"tier":           func(c *SalesClaim) { c.PromoTier = "gold ?" },
		"negative units": func(c *SalesClaim) { c.QualifyingUnits = "-1" },
		"negative rate":  func(c *SalesClaim) { c.TierRate = "-0.000000001" },
		"currency":       func(c *SalesClaim) { c.Currency = "KWD" },
		"product":        func(c *SalesClaim) { c.QualifyingUnits, c.TierRate = "99999999999999999", "99999999999" },
		"microseconds":   func(c *SalesClaim) { c.TransactionDate = "2010-12-01T08:26:00.123456000Z" },
		"P13":            func(c *SalesClaim) { c.ClaimPeriod = "2010-P13" },
	})
}

func TestOptions_SayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"the run id is empty": func(o *Options) { o.RunID = "" },
		`the run id "a\xff" has characters that can't be printed`: func(o *Options) { o.RunID = "a\xff" },
		`the run id "a\x1b[2J" has characters`:                    func(o *Options) { o.RunID = "a\x1b[2J" },
		`the run id "a\nb" has characters`:                        func(o *Options) { o.RunID = "a\nb" },
		"the run id is longer than 236 bytes":                     func(o *Options) { o.RunID = strings.Repeat("x", 237) },
		`the delivery "x" isn't a ULID`:                           func(o *Options) { o.Delivery = "x" },
		`there is no tier "fast": want one of fast_p`:             func(o *Options) { o.Tier = "fast" },
		"the delivery time-out is -1ns":                           func(o *Options) { o.DeliveryTimeout = -1 },
		"make the delivery's id: EOF":                             func(o *Options) { o.Entropy = strings.NewReader("") },
	} {
		options := Options{RunID: "run"}
		change(&options)
		require.ErrorContains(t, options.Validate(), want)
		_, err := NewSalesBuilder(options)
		require.ErrorContains(t, err, want)
		_, err = NewSales(t.Context(), options)
		require.ErrorContains(t, err, want)
	}
	_, err := NewSales(t.Context(), Options{RunID: "run"})
	require.EqualError(t, err, "there is no schema registry to encode by")
}
