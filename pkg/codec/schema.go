package codec

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds of a schema, wherever it comes from. They're far above what a
// settlement record needs, and low enough that no schema costs more than a
// moment.
const (
	maxSchemaBytes = 256 << 10 // text
	maxNodes       = 512       // types and fields, each counted as often as it's used
	maxDepth       = 16        // of types in types
	maxBranches    = 16        // of a union
	maxFixedBytes  = 4096      // of one fixed value
	maxSymbols     = 1024      // of an enum
	maxNameBytes   = 256       // of a type, field or symbol, and of each part of a namespace
)

// A kind is one of the Avro types that tieout reads. Arrays and maps aren't
// among them: their counts let a few bytes ask for any amount of memory.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindFixed
	kindEnum
	kindUnion
	kindRecord
)

// String returns the kind's name in a schema's text.
func (k kind) String() string {
	return [...]string{
		"null", "boolean", "int", "long", "float", "double", "bytes", "string",
		"fixed", "enum", "union", "record",
	}[k]
}

// primitiveKind returns the kind of a primitive type's name.
func primitiveKind(name string) (kind, bool) {
	for k := kindNull; k <= kindString; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// A schema is a parsed Avro schema. It's a tree, or a graph without cycles
// where a named type is used twice, and never changes once parsed.
type schema struct {
	kind kind

	// logical is the logical type as written, known or not; precision and
	// scale are those of a decimal.
	logical          string
	precision, scale int

	name     string // full name of a fixed, enum or record
	size     int    // of a fixed, in bytes
	symbols  []string
	fallback string // the enum's own default; empty where it has none
	branches []*schema
	fields   []field

	nodes int // types and fields below and with this one, as they're decoded
}

// A field is one field of a record.
type field struct {
	name     string
	typ      *schema
	aliases  []string
	fallback json.RawMessage // the default's text; nil where there is none
	frozen   bool            // marked as such in the schema
}

// frozenAttribute marks, in a schema's text, a field that belongs to a record's
// identity or economics. That the schema says so itself lets the registry's
// own copies be held against a new version, and tells other producers.
const frozenAttribute = "tieout.frozen"

// isFrozen says whether the field or anything in it is frozen: a default for a
// record is one for all that is in it.
func (f *field) isFrozen() bool {
	if f.frozen {
		return true
	}
	if f.typ.kind != kindRecord {
		return false
	}
	for i := range f.typ.fields {
		if f.typ.fields[i].isFrozen() {
			return true
		}
	}
	return false
}

// fieldNamed returns the record's field of that name, or nil.
func (s *schema) fieldNamed(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// shortName is the name without its namespace.
func (s *schema) shortName() string {
	return s.name[strings.LastIndexByte(s.name, '.')+1:]
}

// nullable returns the type beside null in a union of the two, or nil.
func (s *schema) nullable() *schema {
	if s.kind != kindUnion || len(s.branches) != 2 {
		return nil
	}
	switch {
	case s.branches[0].kind == kindNull:
		return s.branches[1]
	case s.branches[1].kind == kindNull:
		return s.branches[0]
	}
	return nil
}

// String says the type in the words of an error message.
func (s *schema) String() string {
	switch s.kind {
	case kindUnion:
		parts := make([]string, len(s.branches))
		for i, branch := range s.branches {
			parts[i] = branch.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case kindRecord, kindEnum:
		return s.kind.String() + " " + s.shortName()
	}
	text := s.kind.String()
	if s.kind == kindFixed {
		text += "(" + strconv.Itoa(s.size) + ")"
	}
	switch s.logical {
	case "":
	case decimalType:
		text += " decimal(" + strconv.Itoa(s.precision) + "," + strconv.Itoa(s.scale) + ")"
	default:
		text += " " + s.logical
	}
	return text
}
