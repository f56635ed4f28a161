package codec

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

const (
	// fuzzMemoryBytes is the memory that a fuzz test may have in all.
	fuzzMemoryBytes = 256 << 20

	// maxAllocBytes is what no input at all may make the codec allocate;
	// maxDecodeBytes is what decoding may, beside a few times the body.
	maxAllocBytes  = 64 << 20
	maxDecodeBytes = 1 << 20
)

// limitMemory has the test die slowly rather than the machine.
func limitMemory(t testing.TB) {
	before := debug.SetMemoryLimit(fuzzMemoryBytes)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

// allocated returns how many bytes a call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzDecode(f *testing.F) {
	limitMemory(f)
	body := usualBody(f)
	f.Add(body)
	for _, length := range []int{0, 1, 6, 100, len(body) - 1} {
		f.Add(body[:length])
	}
	f.Add(slices.Concat(body, []byte{0}))
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 0x00})                                     // a text of two gigabytes in six bytes
	f.Add([]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})             // one of all there are
	f.Add(slices.Concat([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})) // a negative one
	f.Add(slices.Repeat([]byte{0x80}, 64))

	decoder, theirs := decoderOf(f, schemas.SalesEnvelope), bareSchema(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var (
			got envelope
			err error
		)
		used := allocated(func() { err = decoder.Decode(body, &got) })
		require.LessOrEqual(t, used, uint64(maxDecodeBytes+4*len(body)))

		var want envelope
		rest, theirErr := theirs.Decode(body, &want)
		if err == nil {
			require.NoError(t, theirErr)
			require.Empty(t, rest)
			require.Equal(t, want, got)
			require.Equal(t, body, bodyOf(t, schemas.SalesEnvelope, &got), "the value has another form")
			return
		}
		if theirErr == nil && len(rest) == 0 {
			requireStricter(t, err)
		}
	})
}

// requireStricter takes only the errors in which we ask more than the oracle.
func requireStricter(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, ErrBodyTooLarge) {
		return
	}
	var failure *DecodeError
	require.ErrorAs(t, err, &failure)
	require.Contains(t, []fault{faultOverlong, faultDecimal, faultBoolean}, fault(failure.Why))
}

func FuzzDecodeSkipping(f *testing.F) {
	limitMemory(f)
	body := slices.Concat(everyKindBody()...)
	for length := range body {
		f.Add(body[:length+1])
	}
	f.Add(slices.Concat(body, []byte{0}))

	writer, err := parseSchema(everyKind)
	require.NoError(f, err)
	theirs, decoder := bare(f, writer), skippingDecoder(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var (
			got keptOnly
			err error
		)
		used := allocated(func() { err = decoder.Decode(body, &got) })
		require.LessOrEqual(t, used, uint64(maxDecodeBytes+4*len(body)))

		var want any
		rest, theirErr := theirs.Decode(body, &want)
		if err == nil {
			require.NoError(t, theirErr)
			require.Empty(t, rest)
			require.Equal(t, want.(map[string]any)["kept"], got.Kept)
			return
		}
		if theirErr == nil && len(rest) == 0 {
			requireStricter(t, err)
		}
	})
}

func FuzzWriterSchema(f *testing.F) {
	limitMemory(f)
	f.Add(schemas.SalesEnvelope, usualBody(f))
	f.Add(everyKind, slices.Concat(everyKindBody()...))
	for _, c := range evolutions {
		if text := edited(f, c.edit); len(text) < math.MaxUint16 {
			f.Add(text, usualBody(f))
		}
	}
	envelopes, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{})
	require.NoError(f, err)
	kept, err := NewReader(`{"type": "record", "name": "Every", "fields": [{"name": "kept", "type": "string"}]}`, keptOnly{}, ReaderOptions{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		used := allocated(func() {
			if decoder, err := envelopes.Decoder(1, text); err == nil {
				_ = decoder.Decode(body, &envelope{}) // it may fail, and must not panic
			}
			if decoder, err := kept.Decoder(1, text); err == nil {
				_ = decoder.Decode(body, &keptOnly{})
			}
		})
		require.LessOrEqual(t, used, uint64(maxAllocBytes))
	})
}
