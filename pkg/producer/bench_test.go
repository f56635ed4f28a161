package producer

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/schemas"
)

// Lines a second of a real file: read twice and checked, and with the broker in
// the same process.
func BenchmarkDelivery(b *testing.B) {
	path := filepath.Join(testdata, "sales", "retail_2010_12.claims.csv.gz")
	rejects := filepath.Join(b.TempDir(), "rejects.csv")
	b.Run("checked", func(b *testing.B) {
		benchmarkDelivery(b, Delivery{Lines: SalesLines{}, Path: path, RejectsPath: rejects, DryRun: true})
	})
	b.Run("sent", func(b *testing.B) {
		kafka := devstack.TestKafka(b, kfake.SeedTopics(6, "recon.accrue", ManifestTopic))
		registry, err := codec.NewRegistry(codec.RegistryOptions{URL: devstack.TestRegistry(b).URL()})
		require.NoError(b, err)
		defer registry.Close()
		_, _, err = registry.Register(b.Context(), "recon.accrue-value", schemas.SalesEnvelope)
		require.NoError(b, err)
		_, _, err = registry.Register(b.Context(), ManifestTopic+"-value", schemas.Manifest)
		require.NoError(b, err)
		options := Options{Client: []kgo.Opt{kgo.SeedBrokers(kafka.Brokers()...)}, Registry: registry}
		benchmarkDelivery(b, Delivery{Lines: SalesLines{}, Path: path, RejectsPath: rejects, Options: options})
	})
}

func benchmarkDelivery(b *testing.B, delivery Delivery) {
	b.Helper()
	b.ReportAllocs()
	var lines int64
	for b.Loop() {
		report, err := delivery.Run(b.Context())
		require.NoError(b, err)
		lines += report.Lines
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
