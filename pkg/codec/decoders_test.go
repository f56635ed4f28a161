package codec

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/tieout/tieout/schemas"
)

// countedDecoders makes decoders of envelopes over a registry whose requests
// are counted.
func countedDecoders(t *testing.T) (*srfake.Registry, *Decoders, *atomic.Int32) {
	t.Helper()
	fake, registry := fakeRegistry(t)
	reader, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{})
	require.NoError(t, err)
	var requests atomic.Int32
	fake.Intercept(func(http.ResponseWriter, *http.Request) bool { requests.Add(1); return false })
	return fake, NewDecoders(registry, reader), &requests
}

func TestADecoderIsResolvedOnceAndCachedThen(t *testing.T) {
	fake, decoders, requests := countedDecoders(t)
	fake.SeedSchema(subject, 1, 5, sr.Schema{Schema: schemas.SalesEnvelope})
	_, ok := decoders.Cached(5)
	require.False(t, ok)
	resolved, err := decoders.Resolve(t.Context(), 5)
	require.NoError(t, err)
	cached, ok := decoders.Cached(5)
	require.True(t, ok)
	require.Same(t, resolved, cached)
	_, err = decoders.Resolve(t.Context(), 5)
	require.NoError(t, err)
	require.EqualValues(t, 1, requests.Load())

	var got envelope
	require.NoError(t, cached.Decode(usualBody(t), &got))
	require.Equal(t, usual(), got)
}

func TestARefusalIsCachedAndGivesNoDecoder(t *testing.T) {
	fake, decoders, requests := countedDecoders(t)
	fake.SeedSchema(subject, 1, 5, sr.Schema{Schema: `{"type": "array", "items": "null"}`})
	fake.SeedSchema("proto", 1, 6, sr.Schema{Schema: `syntax = "proto3";`, Type: sr.TypeProtobuf})
	fake.SeedSchema("long", 1, 7, sr.Schema{Schema: `"` + strings.Repeat("x", maxAnswerBytes) + `"`})
	for _, id := range []int{5, 6, 7} {
		for range 3 {
			_, err := decoders.Resolve(t.Context(), id)
			var refusal *RefusedSchemaError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, id, refusal.ID)
		}
		_, ok := decoders.Cached(id)
		require.False(t, ok)
	}
	require.EqualValues(t, 3, requests.Load())
}

func TestAnUnknownSchemaAndAnOutageAreAskedAboutAgain(t *testing.T) {
	fake, decoders, _ := countedDecoders(t)
	_, err := decoders.Resolve(t.Context(), 5)
	require.ErrorIs(t, err, ErrUnknownSchema)

	var down atomic.Bool
	down.Store(true)
	fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return down.Load()
	})
	_, err = decoders.Resolve(t.Context(), 5)
	requireOutage(t, err, "answered 503")

	down.Store(false)
	fake.SeedSchema(subject, 1, 5, sr.Schema{Schema: schemas.SalesEnvelope})
	_, err = decoders.Resolve(t.Context(), 5)
	require.NoError(t, err)
}

func TestSchemasWithoutEndDoNotFillTheMemory(t *testing.T) {
	fake, decoders, _ := countedDecoders(t)
	const more = maxDecoders + 50
	for id := 1; id <= more; id++ {
		fake.SeedSchema("junk", id, id, sr.Schema{Schema: `"int"`})
		_, err := decoders.Resolve(t.Context(), id)
		require.Error(t, err)
	}
	require.Len(t, *decoders.known.Load(), maxDecoders)
	fake.SeedSchema(subject, 1, more+1, sr.Schema{Schema: schemas.SalesEnvelope})
	_, err := decoders.Resolve(t.Context(), more+1)
	require.NoError(t, err)
	_, ok := decoders.Cached(more + 1)
	require.True(t, ok)
}

func TestDecodersAndOneDecoderServeManyAtOnce(t *testing.T) {
	fake, decoders, _ := countedDecoders(t)
	fake.SeedSchema(subject, 1, 1, sr.Schema{Schema: schemas.SalesEnvelope})
	fake.SeedSchema(subject, 2, 2, sr.Schema{Schema: edited(t, func(e, _ tree) { addField(e, `{"name": "note", "type": "string"}`) })})
	bodies := map[int][]byte{1: usualBody(t), 2: append(usualBody(t), 2, 'x')}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			var got envelope
			for i := range 200 {
				id := 1 + (worker+i)%2
				decoder, ok := decoders.Cached(id)
				if !ok {
					var err error
					if decoder, err = decoders.Resolve(t.Context(), id); err != nil {
						t.Errorf("resolve %d: %v", id, err)
						return
					}
				}
				if err := decoder.Decode(bodies[id], &got); err != nil || got.VendorID != "V013" {
					t.Errorf("decode %d: %v, vendor %q", id, err, got.VendorID)
				}
			}
		})
	}
	group.Wait()
}
