package codec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

func TestTheEncoderAppendsHeaderAndBody(t *testing.T) {
	encoder, err := NewEncoder(schemas.SalesEnvelope, 0x01020304)
	require.NoError(t, err)
	e := usual()
	value, err := encoder.Append([]byte("before"), &e)
	require.NoError(t, err)
	require.Equal(t, "before\x00\x01\x02\x03\x04", string(value[:11]))
	byValue, err := encoder.Append(nil, e)
	require.NoError(t, err)
	require.Equal(t, value[6:], byValue)
}

func TestWhatCannotBeEncodedLeavesTheBufferAsItWas(t *testing.T) {
	encoder, err := NewEncoder(schemas.SalesEnvelope, 1)
	require.NoError(t, err)
	unknownTier := usual()
	unknownTier.QueueTier = "overnight"
	for name, c := range map[string]struct {
		v    any
		says string
	}{
		"nil":              {nil, ErrType.Error()},
		"a nil pointer":    {(*envelope)(nil), "nil pointer"},
		"another type":     {&outcome{}, "has tag version, which record SalesEnvelope lacks"},
		"a number":         {7, "doesn't go into int"},
		"an unknown tier":  {&unknownTier, "unknown enum symbol"},
		"a forgotten part": {&envelope{QueueTier: "fast_path"}, "payload.qualifying_units: decimal has no bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second time by what it remembers
				dst, err := encoder.Append([]byte("before"), c.v)
				require.ErrorContains(t, err, c.says)
				require.Equal(t, "before", string(dst))
			}
		})
	}
	e := usual()
	_, err = encoder.Append(nil, &e)
	require.NoError(t, err, "an error is gone with its value")
}

func TestAnEncoderOfAnUnsoundSchemaIsRefused(t *testing.T) {
	_, err := NewEncoder(`{"type": "array", "items": "int"}`, 1)
	require.ErrorContains(t, err, "type array isn't read")
	_, err = NewEncoder(`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "aliases": ["b"]}]}`, 1)
	require.ErrorContains(t, err, "aliases aren't followed")
}
