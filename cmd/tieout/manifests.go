package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/producer"
)

// manifestsTimeout bounds the reading of the manifests' topic, which has one
// small record a delivery.
const manifestsTimeout = 2 * time.Minute

// runManifests are the manifests of a run that their topic holds now.
type runManifests struct {
	manifests []producer.Manifest
	strangers int // records under the run's key that are none
}

// readManifests reads the topic from its start: a run's manifests are wherever
// the topic had its partitions when they were sent.
func (a *app) readManifests(ctx context.Context, cfg *config, runID string) (read runManifests, err error) {
	registry, err := openRegistry(cfg)
	if err != nil {
		return read, err
	}
	defer registry.Close()
	decoder, err := producer.NewManifestDecoder(registry)
	if err != nil {
		return read, err
	}
	// Whether a broker answers at all is found out first, since a reader would
	// ask for ever.
	client, err := openKafka(ctx, cfg, a.logger(cfg))
	if err != nil {
		return read, err
	}
	client.Close()
	options, err := kafkaOptions(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return read, err
	}
	ctx, cancel := context.WithTimeout(ctx, manifestsTimeout)
	defer cancel()
	topic := cfg.topic(producer.ManifestTopic)
	err = readCommitted(ctx, options, []string{topic}, func(r *kgo.Record) error {
		if string(r.Key) != runID {
			return nil
		}
		return read.take(ctx, decoder, runID, r.Value)
	})
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = &producer.TopicMissingError{Topic: topic}
	}
	return read, err
}

// take keeps a manifest. Whatever else somebody put there is counted, and stops
// nobody.
func (r *runManifests) take(ctx context.Context, decoder *producer.ManifestDecoder, runID string, value []byte) error {
	manifest, err := decoder.Decode(ctx, value)
	var none *producer.ManifestError
	switch {
	case errors.As(err, &none), err == nil && manifest.RunID != runID:
		r.strangers++
		return nil
	case err != nil:
		return err
	}
	r.manifests = append(r.manifests, manifest)
	return nil
}
