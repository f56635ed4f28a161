package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

// everyKind is a schema with a field of every kind that tieout reads past, and
// one that it reads.
const everyKind = `{"type": "record", "name": "Every", "fields": [
	{"name": "kept", "type": "string"},
	{"name": "flag", "type": "boolean"},
	{"name": "small", "type": "int"},
	{"name": "large", "type": "long"},
	{"name": "single", "type": "float"},
	{"name": "double", "type": "double"},
	{"name": "bytes", "type": "bytes"},
	{"name": "fixed", "type": {"type": "fixed", "name": "Four", "size": 4}},
	{"name": "enum", "type": {"type": "enum", "name": "Two", "symbols": ["A", "B"]}},
	{"name": "union", "type": ["null", "string", "Four"]},
	{"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "text", "type": "string"}]}}
]}`

// keptOnly reads one field of everyKind.
type keptOnly struct {
	Kept string `avro:"kept"`
}

// everyKindBody is a body of everyKind; its fields are in order.
func everyKindBody() [][]byte {
	return [][]byte{
		[]byte("\x08kept"), {1}, {0x7f}, {0x80, 0x01}, {0, 0, 0x80, 0x3f}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f},
		[]byte("\x04ab"), []byte("four"), {2}, []byte("\x02\x04no"), []byte("\x08text"),
	}
}

func skippingDecoder(t testing.TB) interface{ Decode([]byte, any) error } {
	t.Helper()
	reader, err := NewReader(`{"type": "record", "name": "Every", "fields": [{"name": "kept", "type": "string"}]}`, keptOnly{}, ReaderOptions{})
	require.NoError(t, err)
	decoder, err := reader.Decoder(1, everyKind)
	require.NoError(t, err)
	return decoder
}

func TestEveryTruncationOfAnEnvelopeIsAnError(t *testing.T) {
	decoder, body := decoderOf(t, schemas.SalesEnvelope), usualBody(t)
	for length := range body {
		var got envelope
		var failure *DecodeError
		require.ErrorAs(t, decoder.Decode(body[:length], &got), &failure, "%d bytes", length)
	}
}

func TestEveryTruncationOfSkippedFieldsIsAnError(t *testing.T) {
	decoder, body := skippingDecoder(t), slices.Concat(everyKindBody()...)
	var got keptOnly
	require.NoError(t, decoder.Decode(body, &got))
	require.Equal(t, "kept", got.Kept)
	for length := range body {
		require.Error(t, decoder.Decode(body[:length], &got), "%d bytes", length)
	}
}

func TestTrailingBytesAreAnError(t *testing.T) {
	decoder, body := decoderOf(t, schemas.SalesEnvelope), usualBody(t)
	for _, tail := range [][]byte{{0}, {1}, {0xff}, body} {
		var got envelope
		err := decoder.Decode(slices.Concat(body, tail), &got)
		var failure *DecodeError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, DecodeError{Offset: len(body), Why: string(faultLeftOver)}, *failure)
	}
}

func TestABodyBeyondTheBoundIsRefusedBeforeItIsDecoded(t *testing.T) {
	reader, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{MaxBodyBytes: 400})
	require.NoError(t, err)
	decoder, err := reader.Decoder(1, schemas.SalesEnvelope)
	require.NoError(t, err)
	e := usual()
	require.NoError(t, decoder.Decode(bodyOf(t, schemas.SalesEnvelope, &e), &envelope{}))
	e.VendorID = strings.Repeat("x", 400)
	require.ErrorIs(t, decoder.Decode(bodyOf(t, schemas.SalesEnvelope, &e), &envelope{}), ErrBodyTooLarge)
}

func TestATextOfTheWholeBoundIsRead(t *testing.T) {
	e := usual()
	e.VendorID = strings.Repeat("x", DefaultMaxBodyBytes-400)
	var got envelope
	require.NoError(t, decoderOf(t, schemas.SalesEnvelope).Decode(bodyOf(t, schemas.SalesEnvelope, &e), &got))
	require.Equal(t, e, got)
}

func TestAWrongLengthIsAnErrorAtItsField(t *testing.T) {
	for name, length := range map[string]int64{
		"negative": -1, "most negative": math.MinInt64, "one too many": 300, "gigabytes": 4 << 30, "most": math.MaxInt64,
	} {
		t.Run(name, func(t *testing.T) {
			for _, skipped := range []bool{false, true} {
				fields, decoder, at := [][]byte{binary.AppendVarint(nil, length)}, decoderOf(t, schemas.SalesEnvelope), "message_id"
				var into any = &envelope{}
				if skipped {
					fields, decoder, at = everyKindBody(), skippingDecoder(t), "inner.text"
					fields[len(fields)-1] = binary.AppendVarint(nil, length)
					into = &keptOnly{}
				}
				err := decoder.Decode(slices.Concat(fields...), into)
				var failure *DecodeError
				require.ErrorAs(t, err, &failure)
				require.Equal(t, string(faultLength), failure.Why)
				require.Equal(t, at, failure.Field)
			}
		})
	}
}

func TestAWrongValueIsAnErrorWhetherReadOrSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		field int
		bytes []byte
		why   fault
		at    string
	}{
		"boolean 2":                   {1, []byte{2}, faultBoolean, "flag"},
		"int beyond 32 bits":          {2, binary.AppendVarint(nil, math.MaxInt32+1), faultOutOfRange, "small"},
		"int below 32 bits":           {2, binary.AppendVarint(nil, math.MinInt32-1), faultOutOfRange, "small"},
		"int with a needless byte":    {2, []byte{0x82, 0x00}, faultOverlong, "small"},
		"long beyond 64 bits":         {3, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, faultOutOfRange, "large"},
		"long that never ends":        {3, slices.Repeat([]byte{0xff}, 20), faultOutOfRange, "large"},
		"long with needless bytes":    {3, []byte{0x80, 0x80, 0x80, 0x00}, faultOverlong, "large"},
		"enum symbol beyond the last": {8, []byte{4}, faultSymbol, "enum"},
		"enum symbol before first":    {8, []byte{1}, faultSymbol, "enum"},
		"union branch beyond last":    {9, []byte{6}, faultBranch, "union"},
		"union branch before first":   {9, []byte{1}, faultBranch, "union"},
		"union branch beyond 32 bits": {9, binary.AppendVarint(nil, 1<<32), faultOutOfRange, "union"},
	} {
		t.Run(name, func(t *testing.T) {
			fields := everyKindBody()
			fields[c.field] = c.bytes
			err := skippingDecoder(t).Decode(slices.Concat(fields...), &keptOnly{})
			var failure *DecodeError
			require.ErrorAs(t, err, &failure)
			want := DecodeError{Field: c.at, Offset: len(slices.Concat(fields[:c.field]...)), Why: string(c.why)}
			require.Equal(t, want, *failure)
		})
	}
}

func TestADecimalWithoutBytesIsAnErrorInBothDirections(t *testing.T) {
	e := usual()
	e.Payload.TierRate = nil
	encoder, err := NewEncoder(schemas.SalesEnvelope, 1)
	require.NoError(t, err)
	dst, err := encoder.Append([]byte("before"), &e)
	require.ErrorContains(t, err, "payload.tier_rate: decimal has no bytes")
	require.Equal(t, "before", string(dst))

	body := usualBody(t)
	at := strings.LastIndex(string(body), string([]byte{8, 0x00, 0xf4, 0x24, 0x00})) // tier_rate with its length
	require.Positive(t, at)
	body = slices.Concat(body[:at], []byte{0}, body[at+5:])
	require.ErrorContains(t, decoderOf(t, schemas.SalesEnvelope).Decode(body, &envelope{}), "payload.tier_rate: decimal has no bytes")
}

func TestBadUTF8PassesThrough(t *testing.T) {
	e := usual()
	e.VendorID = "bad \xff\xfe\x00 text"
	var got envelope
	require.NoError(t, decoderOf(t, schemas.SalesEnvelope).Decode(bodyOf(t, schemas.SalesEnvelope, &e), &got))
	require.Equal(t, e, got)
}

func TestDecodeTakesOnlyThePointerThatItsReaderIsFor(t *testing.T) {
	decoder, body := decoderOf(t, schemas.SalesEnvelope), usualBody(t)
	for _, into := range []any{nil, envelope{}, &outcome{}, (*envelope)(nil), new(any)} {
		require.ErrorIs(t, decoder.Decode(body, into), ErrType, "%T", into)
	}
}

func TestAValueOutsideTheWireFormatIsAnError(t *testing.T) {
	for name, value := range map[string][]byte{
		"nil":                nil,
		"empty":              {},
		"four bytes":         {0, 0, 0, 0},
		"magic 1":            {1, 0, 0, 0, 1, 2},
		"text":               []byte(`{"vendor_id": "V013"}`),
		"id beyond Java's":   {0, 0x80, 0, 0, 0, 2},
		"id of all ones":     {0, 0xff, 0xff, 0xff, 0xff, 2},
		"magic of a GUID id": {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := SplitWire(value)
			require.ErrorIs(t, err, ErrWireFormat)
		})
	}
}

func TestTheWireFormatSplitsIntoIDAndBody(t *testing.T) {
	id, body, err := SplitWire([]byte{0, 0x7f, 0xff, 0xff, 0xff, 1, 2})
	require.NoError(t, err)
	require.Equal(t, math.MaxInt32, id)
	require.Equal(t, []byte{1, 2}, body)
	id, body, err = SplitWire([]byte{0, 0, 0, 0, 9})
	require.NoError(t, err)
	require.Equal(t, 9, id)
	require.Empty(t, body)
}

func TestTheLibrarysOwnErrorsAndWhatItLeavesOverCountToo(t *testing.T) {
	d, ok := decoderOf(t, schemas.SalesEnvelope).(*decoder)
	require.True(t, ok)
	body := usualBody(t)
	require.NoError(t, d.read(body, &envelope{}))
	require.ErrorContains(t, d.read(append(slices.Clone(body), 0), &envelope{}), string(faultLeftOver))
	for length := range body {
		require.Error(t, d.read(body[:length], &envelope{}), "%d bytes", length)
	}
	require.NoError(t, d.read(body, &envelope{}))
}
