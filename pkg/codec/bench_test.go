package codec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

func BenchmarkDecode(b *testing.B) {
	decoder, body := decoderOf(b, schemas.SalesEnvelope), usualBody(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var into envelope
	for b.Loop() {
		if err := decoder.Decode(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckBody(b *testing.B) {
	body := usualBody(b)
	s, err := parseSchema(schemas.SalesEnvelope)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := checkBody(s, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	encoder, err := NewEncoder(schemas.SalesEnvelope, 1)
	require.NoError(b, err)
	from := usual()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = encoder.Append(dst[:0], &from); err != nil {
			b.Fatal(err)
		}
	}
}
