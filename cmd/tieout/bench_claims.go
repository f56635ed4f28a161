package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// benchRun names the run of generated claims.
const benchRun = "bench-settle"

// benchClaim makes the nth claim: all are different, of one claim period, and
// post. Every second one states the amount that the model comes to.
func benchClaim(n int) (*producer.SalesClaim, error) {
	// What varies is derived from n alone, so that each benchmark has the same.
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(n))
	drawn := sha256.Sum256(counter[:])
	tiers := [...]string{"BRONZE", "SILVER", "GOLD", "PLATINUM"}
	claim := &producer.SalesClaim{
		VendorID:         fmt.Sprintf("V%03d", drawn[0]),
		StoreID:          fmt.Sprintf("STORE-%05d", 37*int(drawn[1])),
		RetailerInvoice:  fmt.Sprintf("INV-2026-%08d", n/8),
		LineItemHash:     hex.EncodeToString(drawn[16:]),
		PromoTier:        tiers[drawn[2]%4],
		ClaimPeriod:      "2026-Q1",
		AgreementVersion: strconv.Itoa(1 + int(drawn[3]%12)),
		QualifyingUnits:  strconv.Itoa(1 + int(binary.BigEndian.Uint16(drawn[4:])%500)),
		TierRate:         fmt.Sprintf("0.%05d", 1+int(binary.BigEndian.Uint16(drawn[6:]))),
		Currency:         "GBP",
		TransactionDate:  time.Date(2026, 1, 1, 0, 0, n%7_000_000, 0, time.UTC).Format(time.RFC3339),
		CorrelationID:    benchRun + ":" + strconv.Itoa(n),
	}
	if n%2 == 1 {
		return claim, nil
	}
	units, err := money.Parse(claim.QualifyingUnits)
	if err != nil {
		return nil, err
	}
	tierRate, err := money.Parse(claim.TierRate)
	if err != nil {
		return nil, err
	}
	amount, err := money.Amount(units, tierRate, money.HalfUp)
	claim.ClaimedAmount = amount.String()
	return claim, err
}

// benchLooks is how many claims are made between two looks at the context.
const benchLooks = 1000

// benchEnvelopes makes the claims' envelopes, one after the other.
func benchEnvelopes(ctx context.Context, builder *producer.SalesBuilder, records int, take func(n int, e *sales.Envelope) error) error {
	for n := range records {
		if n%benchLooks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		claim, err := benchClaim(n)
		if err != nil {
			return fmt.Errorf("claim %d: %w", n, err)
		}
		envelope, failure, err := builder.Build(claim)
		switch {
		case err != nil:
			return err
		case failure != nil:
			return fmt.Errorf("claim %d: %s", n, failure.Message())
		}
		if err := take(n, envelope); err != nil {
			return err
		}
	}
	return nil
}

// benchEntries makes the entries that a worker hands to the ledger, by the same
// way: each claim is encoded, decoded and settled.
func benchEntries(ctx context.Context, records int) ([]*settle.Entry, error) {
	builder, err := producer.NewSalesBuilder(producer.Options{RunID: benchRun})
	if err != nil {
		return nil, err
	}
	stream := benchLane().Stream
	schema, target := stream.Envelope()
	const schemaID = 1
	encoder, err := codec.NewEncoder(schema, schemaID)
	if err != nil {
		return nil, err
	}
	reader, err := codec.NewReader(schema, target, codec.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	decoder, err := reader.Decoder(schemaID, schema)
	if err != nil {
		return nil, err
	}
	entries := make([]*settle.Entry, 0, records)
	delivery := settle.Delivery{RunID: benchRun, Delivery: "00000000000000000000000000"}
	err = benchEnvelopes(ctx, builder, records, func(n int, envelope *sales.Envelope) error {
		entry := &settle.Entry{Delivery: delivery}
		entry.Record.Offset = int64(n)
		entry.Record.Key = []byte(envelope.ReconciliationKey)
		value, err := encoder.Append(nil, envelope)
		if err != nil {
			return err
		}
		_, body, err := codec.SplitWire(value)
		if err != nil {
			return err
		}
		if entry.Posting, entry.Failure = stream.Settle(&entry.Record, body, decoder); entry.Failure != nil {
			return fmt.Errorf("claim %d: %s", n, entry.Failure.Message())
		}
		entries = append(entries, entry)
		return nil
	})
	return entries, err
}

// send puts the claims onto the lane's topic, as an upstream producer does.
func (b *settleBench) send(ctx context.Context) error {
	cfg := b.sandbox.cfg
	options, err := b.app.producerOptions(cfg, produceFlags{tier: string(producer.ComputeHeavy), runID: benchRun})
	if err != nil {
		return err
	}
	if options.Registry, err = openRegistry(cfg); err != nil {
		return err
	}
	defer options.Registry.Close()
	sender, err := producer.NewSales(ctx, options)
	if err != nil {
		return explainProduce(cfg, err)
	}
	defer sender.Close()
	err = benchEnvelopes(ctx, sender.SalesBuilder, b.flags.records, func(_ int, envelope *sales.Envelope) error {
		return sender.Send(ctx, envelope)
	})
	if err != nil {
		return explainProduce(cfg, err)
	}
	return explainProduce(cfg, sender.Flush(ctx))
}
