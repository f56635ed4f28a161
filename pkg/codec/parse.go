package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// parseSchema parses a schema's text and refuses what tieout doesn't read.
// Unlike the library's parser it takes attributes by their exact names only,
// and never a name that another schema defined.
func parseSchema(text string) (*schema, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("its text has %d bytes, more than %d", len(text), maxSchemaBytes)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("it isn't JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it isn't JSON: something follows the value")
	}
	p := parser{named: map[string]*schema{}}
	s, err := p.parse(tree, "", 0)
	if err != nil && p.path != "" {
		return nil, fmt.Errorf("%s: %w", pathName(p.path), err)
	}
	return s, err
}

// A parser holds what one schema's text has defined so far.
type parser struct {
	named map[string]*schema // by full name; nil while being parsed
	path  string             // of the field at hand
}

func (p *parser) parse(tree any, namespace string, depth int) (*schema, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it's nested deeper than %d", maxDepth)
	}
	var (
		s   *schema
		err error
	)
	switch tree := tree.(type) {
	case string:
		return p.reference(tree, namespace)
	case []any:
		s, err = p.union(tree, namespace, depth)
	case map[string]any:
		s, err = p.object(tree, namespace, depth)
	default:
		return nil, fmt.Errorf("%v isn't a type", tree)
	}
	if err != nil {
		return nil, err
	}
	return s, s.count()
}

// count sets how many nodes the schema has once every use of a named type is
// written out: that's what decoding costs, and what two dozen types that each
// use the one before twice would let grow without end.
func (s *schema) count() error {
	s.nodes = 1
	for _, branch := range s.branches {
		s.nodes += branch.nodes
	}
	for i := range s.fields {
		s.nodes += s.fields[i].typ.nodes
	}
	if s.nodes > maxNodes {
		return fmt.Errorf("it has more than %d types and fields", maxNodes)
	}
	return nil
}

// reference resolves a type that is given by its name.
func (p *parser) reference(name, namespace string) (*schema, error) {
	if k, ok := primitiveKind(name); ok {
		return &schema{kind: k, nodes: 1}, nil
	}
	full := fullName(name, namespace)
	s, ok := p.named[full]
	switch {
	case !ok:
		return nil, fmt.Errorf("type %s isn't defined", full)
	case s == nil:
		return nil, fmt.Errorf("type %s is recursive", full)
	}
	return s, nil
}

func (p *parser) union(tree []any, namespace string, depth int) (*schema, error) {
	if len(tree) == 0 || len(tree) > maxBranches {
		return nil, fmt.Errorf("a union has %d branches, not 1 to %d", len(tree), maxBranches)
	}
	s := &schema{kind: kindUnion}
	seen := map[string]bool{}
	for _, branch := range tree {
		typ, err := p.parse(branch, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		key := typ.kind.String() + " " + typ.name
		switch {
		case typ.kind == kindUnion:
			return nil, errors.New("a union is a branch of a union")
		case seen[key]:
			return nil, fmt.Errorf("a union has %s twice", typ)
		}
		seen[key] = true
		s.branches = append(s.branches, typ)
	}
	return s, nil
}

func (p *parser) object(tree map[string]any, namespace string, depth int) (*schema, error) {
	name, ok := tree["type"].(string)
	if !ok {
		return nil, errors.New("a type has no name of a type")
	}
	switch name {
	case "array", "map":
		return nil, fmt.Errorf("type %s isn't read", name)
	case "record":
		return p.record(tree, namespace, depth)
	case "enum":
		return p.enum(tree, namespace)
	case "fixed":
		return p.fixed(tree, namespace)
	}
	k, ok := primitiveKind(name)
	if !ok {
		return p.reference(name, namespace)
	}
	s := &schema{kind: k}
	return s, s.readLogical(tree)
}

func (p *parser) record(tree map[string]any, namespace string, depth int) (*schema, error) {
	name, namespace, err := p.define(tree, namespace)
	if err != nil {
		return nil, err
	}
	fields, ok := tree["fields"].([]any)
	if !ok {
		return nil, fmt.Errorf("record %s has no list of fields", name)
	}
	if len(fields) > maxNodes {
		return nil, fmt.Errorf("record %s has %d fields, more than %d", name, len(fields), maxNodes)
	}
	s := &schema{kind: kindRecord, name: name}
	for _, tree := range fields {
		f, err := p.field(tree, namespace, depth)
		if err != nil {
			return nil, err
		}
		if s.fieldNamed(f.name) != nil {
			return nil, fmt.Errorf("record %s has field %s twice", name, f.name)
		}
		s.fields = append(s.fields, f)
	}
	p.named[name] = s
	return s, nil
}

func (p *parser) field(tree any, namespace string, depth int) (f field, err error) {
	object, ok := tree.(map[string]any)
	if !ok {
		return f, errors.New("a field isn't an object")
	}
	if f.name, ok = object["name"].(string); !ok || !isName(f.name) {
		return f, fmt.Errorf("%v isn't a field's name", object["name"])
	}
	record := p.path
	p.path = joinPath(record, f.name)
	if f.typ, err = p.parse(object["type"], namespace, depth+1); err != nil {
		return f, err
	}
	if f.typ.kind == kindNull {
		return f, errors.New("it can only be null") // the library can't skip it
	}
	if f.aliases, err = readNames(object, "aliases"); err != nil {
		return f, err
	}
	if fallback, ok := object["default"]; ok {
		if f.fallback, err = json.Marshal(fallback); err != nil {
			return f, fmt.Errorf("its default: %w", err)
		}
	}
	if mark, ok := object[frozenAttribute]; ok {
		if f.frozen, ok = mark.(bool); !ok {
			return f, fmt.Errorf("%s is neither true nor false", frozenAttribute)
		}
	}
	p.path = record // after an error it stays, to be named
	return f, nil
}

func (p *parser) enum(tree map[string]any, namespace string) (*schema, error) {
	name, _, err := p.define(tree, namespace)
	if err != nil {
		return nil, err
	}
	s := &schema{kind: kindEnum, name: name}
	if s.symbols, err = readNames(tree, "symbols"); err != nil {
		return nil, fmt.Errorf("enum %s: %w", name, err)
	}
	if len(s.symbols) == 0 || len(s.symbols) > maxSymbols {
		return nil, fmt.Errorf("enum %s has %d symbols, not 1 to %d", name, len(s.symbols), maxSymbols)
	}
	seen := map[string]bool{}
	for _, symbol := range s.symbols {
		if !isName(symbol) || seen[symbol] {
			return nil, fmt.Errorf("enum %s: %q isn't a symbol, or it's there twice", name, symbol)
		}
		seen[symbol] = true
	}
	if fallback, ok := tree["default"]; ok {
		if s.fallback, _ = fallback.(string); !seen[s.fallback] {
			return nil, fmt.Errorf("enum %s: its default %v isn't among its symbols", name, fallback)
		}
	}
	p.named[name] = s
	return s, nil
}

func (p *parser) fixed(tree map[string]any, namespace string) (*schema, error) {
	name, _, err := p.define(tree, namespace)
	if err != nil {
		return nil, err
	}
	s := &schema{kind: kindFixed, name: name}
	if s.size, err = readInt(tree, "size"); err != nil {
		return nil, fmt.Errorf("fixed %s: %w", name, err)
	}
	if s.size < 1 || s.size > maxFixedBytes {
		return nil, fmt.Errorf("fixed %s has %d bytes, not 1 to %d", name, s.size, maxFixedBytes)
	}
	p.named[name] = s
	return s, s.readLogical(tree)
}

// define reads the name of a named type and notes it as being parsed.
func (p *parser) define(tree map[string]any, namespace string) (full, inner string, err error) {
	name, ok := tree["name"].(string)
	if !ok {
		return "", "", fmt.Errorf("a type of kind %v has no name", tree["type"])
	}
	if own, ok := tree["namespace"].(string); ok {
		namespace = own
	}
	full = fullName(name, namespace)
	for part := range strings.SplitSeq(full, ".") {
		if !isName(part) {
			return "", "", fmt.Errorf("%q isn't a type's name", full)
		}
	}
	if _, ok := primitiveKind(full); ok {
		return "", "", fmt.Errorf("type %s is named as a primitive one is", full)
	}
	if _, ok := p.named[full]; ok {
		return "", "", fmt.Errorf("type %s is defined twice", full)
	}
	p.named[full] = nil
	dot := max(strings.LastIndexByte(full, '.'), 0)
	return full, full[:dot], nil
}
