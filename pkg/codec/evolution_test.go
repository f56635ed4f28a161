package codec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

// A tree is a schema's text, to be edited.
type tree = map[string]any

// edited returns the envelope's schema with a change.
func edited(t testing.TB, edit func(envelope, payload tree)) string {
	t.Helper()
	var envelope tree
	require.NoError(t, json.Unmarshal([]byte(schemas.SalesEnvelope), &envelope))
	edit(envelope, fieldOf(envelope, "payload")["type"].(tree))
	text, err := json.Marshal(envelope)
	require.NoError(t, err)
	return string(text)
}

func fieldOf(record tree, name string) tree {
	for _, f := range record["fields"].([]any) {
		if f := f.(tree); f["name"] == name {
			return f
		}
	}
	return nil
}

func addField(record tree, text string) {
	var f any
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	record["fields"] = append(record["fields"].([]any), f)
}

func dropField(record tree, name string) {
	var kept []any
	for _, f := range record["fields"].([]any) {
		if f.(tree)["name"] != name {
			kept = append(kept, f)
		}
	}
	record["fields"] = kept
}

func decimalOf(precision, scale int) tree {
	return tree{"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
}

// nestedTypes are types that each use the one before twice: small in text, two
// to the power of their number when written out.
func nestedTypes(number int) tree {
	inner := any("string")
	for i := range number {
		name := "T" + string(rune('a'+i))
		inner = tree{"type": "record", "name": name, "fields": []any{
			tree{"name": "a", "type": inner}, tree{"name": "b", "type": nameOf(inner)},
		}}
	}
	return inner.(tree)
}

func nameOf(typ any) any {
	if typ, ok := typ.(tree); ok {
		return typ["name"]
	}
	return typ
}

// evolutions are writers' schemas, each one edit away from the reader's, and
// why they're refused; nothing where they're read.
var evolutions = map[string]struct {
	edit    func(envelope, payload tree)
	refused string
}{
	"the same":          {func(e, p tree) {}, ""},
	"another namespace": {func(e, p tree) { e["namespace"] = "com.vendor" }, ""},
	"docs and properties": {func(e, p tree) {
		e["doc"], e["owner"] = "ours", tree{"team": "claims"}
		fieldOf(e, "vendor_id")["type"] = tree{"type": "string", "avro.java.string": "String"}
	}, ""},
	"an added field":                           {func(e, p tree) { addField(e, `{"name": "note", "type": "string"}`) }, ""},
	"an added field with a default":            {func(e, p tree) { addField(e, `{"name": "note", "type": "string", "default": ""}`) }, ""},
	"an added float":                           {func(e, p tree) { addField(p, `{"name": "weight", "type": "double"}`) }, ""},
	"a lacking field that the reader defaults": {func(e, p tree) { dropField(e, "queue_tier") }, ""},
	"an alias on a field that isn't frozen":    {func(e, p tree) { fieldOf(p, "store_id")["aliases"] = []any{"shop"} }, ""},
	"a default on a field that isn't frozen":   {func(e, p tree) { fieldOf(p, "store_id")["default"] = "" }, ""},
	"the nullable's branches swapped": {func(e, p tree) {
		f := fieldOf(p, "claimed_amount")
		f["type"] = []any{f["type"].([]any)[1], "null"}
	}, ""},
	"a symbol more than the reader's": {func(e, p tree) {
		fieldOf(e, "queue_tier")["type"].(tree)["symbols"] = []any{"overnight", "fast_path", "compute_heavy", "dead_letter"}
	}, ""},
	"fields in another order": {func(e, p tree) {
		fields := e["fields"].([]any)
		fields[0], fields[3] = fields[3], fields[0]
	}, ""},

	"a lacking field without a default": {func(e, p tree) { dropField(p, "store_id") }, "payload.store_id isn't written and has no default"},
	"a lacking key field":               {func(e, p tree) { dropField(p, "promo_tier") }, "payload.promo_tier is frozen and isn't written"},
	"a lacking economics field":         {func(e, p tree) { dropField(p, "claimed_amount") }, "payload.claimed_amount is frozen and isn't written"},
	"a lacking payload":                 {func(e, p tree) { dropField(e, "payload") }, "payload is frozen and isn't written"},
	"a renamed frozen field":            {func(e, p tree) { fieldOf(p, "currency")["name"] = "ccy" }, "payload.currency is frozen and isn't written"},
	"a renamed frozen field that aliases the old name": {func(e, p tree) {
		fieldOf(p, "currency")["name"], fieldOf(p, "currency")["aliases"] = "ccy", []any{"currency"}
	}, "payload.currency is frozen and isn't written"},
	"an alias on a frozen field": {func(e, p tree) { fieldOf(e, "vendor_id")["aliases"] = []any{"supplier"} }, "vendor_id is frozen and has an alias"},
	"an alias that is a frozen field": {func(e, p tree) {
		addField(p, `{"name": "units", "type": "string", "aliases": ["qualifying_units"]}`)
	}, "payload.qualifying_units is frozen and is an alias of field units"},
	"a default on a frozen field":     {func(e, p tree) { fieldOf(p, "currency")["default"] = "EUR" }, "payload.currency is frozen and has a default"},
	"a null default on a frozen one":  {func(e, p tree) { fieldOf(p, "claimed_amount")["default"] = nil }, "payload.claimed_amount is frozen and has a default"},
	"an alias on what holds frozen":   {func(e, p tree) { fieldOf(e, "payload")["aliases"] = []any{"line"} }, "payload is frozen and has an alias"},
	"a default for what holds frozen": {func(e, p tree) { fieldOf(e, "payload")["default"] = tree{} }, "payload is frozen and has a default"},
	"a nullable payload":              {func(e, p tree) { fieldOf(e, "payload")["type"] = []any{"null", p} }, "payload is written as [null, record ClaimPayload] and read as record ClaimPayload"},

	"another scale":                  {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = decimalOf(38, 6) }, "payload.tier_rate is written as bytes decimal(38,6) and read as bytes decimal(38,9)"},
	"another scale of the nullable":  {func(e, p tree) { fieldOf(p, "claimed_amount")["type"] = []any{"null", decimalOf(38, 2)} }, "decimal(38,2)"},
	"another precision":              {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = decimalOf(28, 9) }, "decimal(28,9)"},
	"no scale":                       {func(e, p tree) { delete(fieldOf(p, "tier_rate")["type"].(tree), "scale") }, "decimal(38,0)"},
	"a scale by another case":        {func(e, p tree) { d := fieldOf(p, "tier_rate")["type"].(tree); delete(d, "scale"); d["Scale"] = 9 }, "decimal(38,0)"},
	"a scale as text":                {func(e, p tree) { fieldOf(p, "tier_rate")["type"].(tree)["scale"] = "9" }, "scale isn't a number"},
	"a scale with a fraction":        {func(e, p tree) { fieldOf(p, "tier_rate")["type"].(tree)["scale"] = 9.5 }, "scale 9.5 isn't a whole number"},
	"a scale beyond the precision":   {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = decimalOf(8, 9) }, "no sound precision and scale"},
	"a decimal without logical type": {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = "bytes" }, "payload.tier_rate is written as bytes and read as bytes decimal(38,9)"},
	"a decimal as text":              {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = "string" }, "payload.tier_rate is written as string"},
	"a decimal as double":            {func(e, p tree) { fieldOf(p, "tier_rate")["type"] = "double" }, "payload.tier_rate is written as double"},
	"a decimal as fixed": {func(e, p tree) {
		fieldOf(p, "tier_rate")["type"] = tree{"type": "fixed", "name": "D", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 9}
	}, "payload.tier_rate is written as fixed(16) decimal(38,9)"},
	"a claim that is never null": {func(e, p tree) { fieldOf(p, "claimed_amount")["type"] = decimalOf(38, 9) }, "payload.claimed_amount is written as bytes decimal(38,9)"},
	"nullable units":             {func(e, p tree) { fieldOf(p, "qualifying_units")["type"] = []any{"null", decimalOf(38, 9)} }, "payload.qualifying_units is written as [null, bytes decimal(38,9)]"},
	"milliseconds":               {func(e, p tree) { fieldOf(p, "transaction_date")["type"].(tree)["logicalType"] = "timestamp-millis" }, "payload.transaction_date is written as long timestamp-millis"},
	"a long version":             {func(e, p tree) { fieldOf(e, "agreement_version")["type"] = "long" }, "agreement_version is written as long and read as int"},
	"text as bytes":              {func(e, p tree) { fieldOf(e, "vendor_id")["type"] = "bytes" }, "vendor_id is written as bytes and read as string"},
	"another record":             {func(e, p tree) { e["name"] = "TradeRecord" }, "the record is written as record TradeRecord and read as record SalesEnvelope"},
	"an enum by another name":    {func(e, p tree) { fieldOf(e, "queue_tier")["type"].(tree)["name"] = "Tier" }, "queue_tier is written as enum Tier"},
	"an added array":             {func(e, p tree) { addField(e, `{"name": "x", "type": {"type": "array", "items": "null"}}`) }, "field x: type array isn't read"},
	"an added map":               {func(e, p tree) { addField(e, `{"name": "x", "type": {"type": "map", "values": "int"}}`) }, "field x: type map isn't read"},
	"an added array in a union":  {func(e, p tree) { addField(e, `{"name": "x", "type": ["null", {"type": "array", "items": "int"}]}`) }, "field x: type array isn't read"},
	"an added record that holds itself": {func(e, p tree) {
		addField(e, `{"name": "x", "type": {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}}`)
	}, "type io.tieout.sales.L is recursive"},
	"an envelope that holds itself":  {func(e, p tree) { addField(e, `{"name": "x", "type": ["null", "SalesEnvelope"]}`) }, "type io.tieout.sales.SalesEnvelope is recursive"},
	"types that double nine times":   {func(e, p tree) { e["fields"] = append(e["fields"].([]any), tree{"name": "x", "type": nestedTypes(9)}) }, "more than 512 types and fields"},
	"types nested beyond the bound":  {func(e, p tree) { e["fields"] = append(e["fields"].([]any), tree{"name": "x", "type": nestedTypes(20)}) }, "nested deeper than 16"},
	"a union with too many branches": {func(e, p tree) { addField(e, `{"name": "x", "type": [`+strings.Repeat(`"null",`, 16)+`"int"]}`) }, "a union has 17 branches"},
	"a fixed of megabytes": {func(e, p tree) {
		addField(e, `{"name": "x", "type": {"type": "fixed", "name": "F", "size": 1073741824}}`)
	}, "fixed io.tieout.sales.F has 1073741824 bytes"},
	"a fixed of negative size":      {func(e, p tree) { addField(e, `{"name": "x", "type": {"type": "fixed", "name": "F", "size": -1}}`) }, "has -1 bytes"},
	"a field that can only be null": {func(e, p tree) { addField(e, `{"name": "x", "type": "null"}`) }, "field x: it can only be null"},
	"a type that nobody defined":    {func(e, p tree) { addField(e, `{"name": "x", "type": "Elsewhere"}`) }, "type io.tieout.sales.Elsewhere isn't defined"},
	"text beyond the bound":         {func(e, p tree) { e["doc"] = strings.Repeat("x", maxSchemaBytes) }, "more than 262144"},
	"more fields than the bound":    {func(e, p tree) { e["fields"] = append(e["fields"].([]any), make([]any, maxNodes)...) }, "more than 512"},
}

func TestAWritersSchemaIsReadOrRefusedAsItsChangeDeserves(t *testing.T) {
	for name, c := range evolutions {
		t.Run(name, func(t *testing.T) {
			reader, err := NewReader(schemas.SalesEnvelope, envelope{}, ReaderOptions{})
			require.NoError(t, err)
			_, err = reader.Decoder(42, edited(t, c.edit))
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			var refusal *RefusedSchemaError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, 42, refusal.ID)
			require.Contains(t, refusal.Why, c.refused)
			require.NotContains(t, refusal.Error(), "\n")
			require.Less(t, len(refusal.Error()), 300)
		})
	}
}
