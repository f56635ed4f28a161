package codec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams/findings"
	"github.com/tieout/tieout/streams/sales"
	"github.com/tieout/tieout/streams/trades"
)

func TestASchemaThatIsNotSoundIsRefused(t *testing.T) {
	for text, why := range map[string]string{
		``:                  "isn't JSON",
		`"int" "int"`:       "isn't JSON",
		`int`:               "isn't JSON",
		`7`:                 "7 isn't a type",
		`null`:              "isn't a type",
		`"Elsewhere"`:       "type Elsewhere isn't defined",
		`{"type": ["int"]}`: "no name of a type",
		`{"Type": "int"}`:   "no name of a type",
		`[]`:                "a union has 0 branches",
		`["int", "int"]`:    "a union has int twice",
		`["int", ["null"]]`: "a union is a branch of a union",
		`{"type": "error", "name": "E", "fields": []}`: "type error isn't defined",

		`{"type": "record", "fields": []}`:                                                                                    "has no name",
		`{"type": "record", "name": "R"}`:                                                                                     "no list of fields",
		`{"type": "record", "name": "1R", "fields": []}`:                                                                      `"1R" isn't a type's name`,
		`{"type": "record", "name": "a..R", "fields": []}`:                                                                    `"a..R" isn't a type's name`,
		`{"type": "record", "name": "string", "fields": []}`:                                                                  "named as a primitive one",
		`{"type": "record", "name": "R", "fields": [{"name": "a.b", "type": "int"}]}`:                                         "a.b isn't a field's name",
		`{"type": "record", "name": "R", "fields": [{"name": "", "type": "int"}]}`:                                            "isn't a field's name",
		`{"type": "record", "name": "R", "fields": [{"name": "a"}]}`:                                                          "field a: <nil> isn't a type",
		`{"type": "record", "name": "R", "fields": ["int"]}`:                                                                  "a field isn't an object",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "R"}]}`:                                             "field a: type R is recursive",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "aliases": "b"}]}`:                           "its aliases aren't a list",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "aliases": [1]}]}`:                           "its aliases have 1 among them",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "tieout.frozen": "yes"}]}`:                   "tieout.frozen is neither true nor false",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]}`:             "record R has field a twice",
		`{"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "enum", "name": "R", "symbols": ["A"]}}]}`: "type R is defined twice",

		`{"type": "record", "name": "` + strings.Repeat("R", maxNameBytes+1) + `", "fields": []}`: "isn't a type's name",

		`{"type": "enum", "name": "E", "symbols": []}`:                    "enum E has 0 symbols",
		`{"type": "enum", "name": "E"}`:                                   "enum E has 0 symbols",
		`{"type": "enum", "name": "E", "symbols": ["A", "A"]}`:            `"A" isn't a symbol, or it's there twice`,
		`{"type": "enum", "name": "E", "symbols": ["A-B"]}`:               `"A-B" isn't a symbol`,
		`{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}`: "its default B isn't among its symbols",
		`{"type": "enum", "name": "E", "symbols": ["A"], "default": 1}`:   "its default 1 isn't among its symbols",
		`{"type": "fixed", "name": "F"}`:                                  "its size isn't a number",
		`{"type": "fixed", "name": "F", "size": 0}`:                       "fixed F has 0 bytes",
		`{"type": "fixed", "name": "F", "size": 4097}`:                    "fixed F has 4097 bytes",
		`{"type": "fixed", "name": "F", "size": 99999999999999999999}`:    "isn't a whole number",

		`{"type": "int", "logicalType": 1}`:                                        "1 isn't a logical type's name",
		`{"type": "bytes", "logicalType": "decimal"}`:                              "a decimal: its precision isn't a number",
		`{"type": "bytes", "logicalType": "decimal", "precision": 0}`:              "no sound precision and scale",
		`{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": -1}`: "no sound precision and scale",
		`{"type": "string", "logicalType": "decimal", "precision": 4}`:             "a decimal is written as string",
	} {
		_, err := parseSchema(text)
		require.ErrorContains(t, err, why, text)
	}
}

func TestWhatTheLedgerKeysAndComparesIsFrozenInTheSchema(t *testing.T) {
	for _, c := range []struct {
		stream   settle.Stream
		identity []string
	}{
		{sales.New(), []string{"retailer_invoice", "line_item_hash", "promo_tier"}},
		{trades.New(), []string{"trade_id", "node_id"}},
		{findings.New(), []string{"trade_id", "node_id", "class"}},
	} {
		envelope, _ := c.stream.Envelope()
		s, err := parseSchema(envelope)
		require.NoError(t, err)
		table := c.stream.Table()
		for _, name := range slices.Concat(table.Key, table.Economics, table.Pinned, []string{table.Version}, c.identity) {
			if name == "revision" {
				continue // the ledger's own
			}
			f := s.fieldNamed(name)
			if payload := s.fieldNamed("payload"); f == nil && payload != nil {
				f = payload.typ.fieldNamed(name)
			}
			require.NotNil(t, f, name)
			require.True(t, f.frozen, name)
		}
	}
}

func TestASchemaWrittenOutReadsAsTheSame(t *testing.T) {
	for _, text := range []string{schemas.SalesEnvelope, schemas.TradeRecord, schemas.Finding, schemas.Outcome, everyKind} {
		s, err := parseSchema(text)
		require.NoError(t, err)
		out, err := s.text(true)
		require.NoError(t, err)
		again, err := parseSchema(out)
		require.NoError(t, err)
		require.NoError(t, checkReadable(s, again, ""))
		require.NoError(t, checkReadable(again, s, ""))
		text, err := again.text(true)
		require.NoError(t, err)
		require.Equal(t, out, text)
		require.NotContains(t, out, `"doc"`)
	}
}

func TestANamedTypeIsFoundByItsNamespace(t *testing.T) {
	s, err := parseSchema(`{"type": "record", "name": "R", "namespace": "a", "fields": [
		{"name": "first", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
		{"name": "second", "type": "E"},
		{"name": "third", "type": "a.E"},
		{"name": "inner", "type": {"type": "record", "name": "b.I", "fields": [
			{"name": "own", "type": {"type": "enum", "name": "E", "symbols": ["B"]}},
			{"name": "outer", "type": "a.E"}
		]}}
	]}`)
	require.NoError(t, err)
	require.Equal(t, "a.E", s.fields[1].typ.name)
	require.Same(t, s.fields[1].typ, s.fields[2].typ)
	inner := s.fields[3].typ
	require.Equal(t, "b.E", inner.fields[0].typ.name)
	require.Equal(t, "a.E", inner.fields[1].typ.name)
}

func TestAReadersSchemaAndStructMustFitEachOther(t *testing.T) {
	const record = `{"type": "record", "name": "R", "fields": [`
	for name, c := range map[string]struct {
		schema string
		target any
		says   string
	}{
		"nothing":         {record + `{"name": "a", "type": "int"}]}`, nil, "want a record and a struct"},
		"no record":       {`"int"`, struct{}{}, "want a record and a struct"},
		"no struct":       {record + `{"name": "a", "type": "int"}]}`, 7, "doesn't go into int"},
		"a field too few": {record + `{"name": "a", "type": "int"}]}`, struct{}{}, "has nothing for field a"},
		"a misspelt tag": {record + `{"name": "a", "type": "int"}]}`, struct {
			A int32 `avro:"b"`
		}{}, "has tag b, which record R lacks"},
		"a field untagged": {record + `{"name": "a", "type": "int"}]}`, struct{ A int32 }{}, "has no tag avro"},
		"a tag twice": {record + `{"name": "a", "type": "int"}]}`, struct {
			A int32 `avro:"a"`
			B int32 `avro:"a"`
		}{}, "two fields with tag a"},
		"a narrower int": {record + `{"name": "a", "type": "int"}]}`, struct {
			A int16 `avro:"a"`
		}{}, "doesn't go into int16"},
		"an unsigned long": {record + `{"name": "a", "type": "long"}]}`, struct {
			A uint32 `avro:"a"`
		}{}, "doesn't go into uint32"},
		"a date as duration": {record + `{"name": "a", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}`, struct {
			A time.Duration `avro:"a"`
		}{}, "doesn't go into time.Duration"},
		"a date as time": {record + `{"name": "a", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}`, struct {
			A time.Time `avro:"a"`
		}{}, "doesn't go into time.Time"},
		"bytes as text": {record + `{"name": "a", "type": "bytes"}]}`, struct {
			A string `avro:"a"`
		}{}, "doesn't go into string"},
		"null without a pointer": {record + `{"name": "a", "type": ["null", "int"]}]}`, struct {
			A int32 `avro:"a"`
		}{}, "needs a pointer"},
		"a union of three": {record + `{"name": "a", "type": ["null", "int", "string"]}]}`, struct {
			A any `avro:"a"`
		}{}, "more than null and one type"},
		"an alias": {record + `{"name": "a", "type": "int", "aliases": ["b"]}]}`, struct {
			A int32 `avro:"a"`
		}{}, "aliases aren't followed"},
		"a default on frozen": {record + `{"name": "a", "type": "int", "default": 1, "tieout.frozen": true}]}`, struct {
			A int32 `avro:"a"`
		}{}, "frozen and has a default"},
		"a default of another type": {record + `{"name": "a", "type": "int", "default": "one"}]}`, struct {
			A int32 `avro:"a"`
		}{}, "can't read itself"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewReader(c.schema, c.target, ReaderOptions{})
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{MaxBodyBytes: -1})
	require.ErrorContains(t, err, "MaxBodyBytes is -1")
}

// everything has a field of each Go type that a schema's type goes into.
type everything struct {
	Flag    bool    `avro:"flag"`
	Small   int32   `avro:"small"`
	Large   int64   `avro:"large"`
	When    int64   `avro:"when"`
	Single  float32 `avro:"single"`
	Double  float64 `avro:"double"`
	Text    string  `avro:"text"`
	Bytes   []byte  `avro:"bytes"`
	Fixed   [4]byte `avro:"fixed"`
	MayBe   *string `avro:"may_be"`
	Inner   *inner  `avro:"inner"`
	Added   string  `avro:"added"`
	AddedTo *int64  `avro:"added_to"`
}

type inner struct {
	Text string `avro:"text"`
}

const everythingFields = `
	{"name": "flag", "type": "boolean"},
	{"name": "small", "type": "int"},
	{"name": "large", "type": "long"},
	{"name": "when", "type": {"type": "long", "logicalType": "timestamp-micros"}},
	{"name": "single", "type": "float"},
	{"name": "double", "type": "double"},
	{"name": "text", "type": "string"},
	{"name": "bytes", "type": "bytes"},
	{"name": "fixed", "type": {"type": "fixed", "name": "Four", "size": 4}},
	{"name": "may_be", "type": ["string", "null"]},
	{"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [{"name": "text", "type": "string"}]}]}`

func TestEveryTypeThatIsReadComesBackAndDefaultsFillIn(t *testing.T) {
	const head = `{"type": "record", "name": "Everything", "fields": [`
	full := head + everythingFields + `,
		{"name": "added", "type": "string", "default": "later"},
		{"name": "added_to", "type": ["null", "long"], "default": null}
	]}`
	reader, err := NewReader(full, everything{}, ReaderOptions{})
	require.NoError(t, err)

	text, number := "text", int64(-7)
	want := everything{
		Flag: true, Small: -5, Large: 1 << 40, When: 1291191960000123, Single: 0.5, Double: -1e300,
		Text: "text", Bytes: []byte{1}, Fixed: [4]byte{1, 2, 3, 4}, MayBe: &text, Inner: &inner{Text: "inner"}, Added: "given", AddedTo: &number,
	}
	decoder, err := reader.Decoder(1, full)
	require.NoError(t, err)
	var got everything
	require.NoError(t, decoder.Decode(bodyOf(t, full, want), &got))
	require.Equal(t, want, got)

	// An earlier writer's body ends where the added fields would begin: two
	// branches and texts.
	earlier, err := reader.Decoder(2, head+everythingFields+`]}`)
	require.NoError(t, err)
	body := bodyOf(t, full, want)
	body = body[:len(body)-len("\x0agiven")-2]
	require.NoError(t, earlier.Decode(body, &got))
	want.Added, want.AddedTo = "later", nil
	require.Equal(t, want, got)
}
