package codec

import (
	"encoding/json"
	"fmt"
)

// text writes the schema out again, with full names and nothing but what this
// package understood. It's all that the library is given of a schema, so that
// the two can't read one text differently. Aliases are never in it, and
// defaults only where asked for: a writer's say nothing about its bytes.
func (s *schema) text(withDefaults bool) (string, error) {
	r := renderer{withDefaults: withDefaults, defined: map[string]bool{}}
	text, err := json.Marshal(r.tree(s))
	if err != nil {
		return "", fmt.Errorf("write the schema out: %w", err)
	}
	return string(text), nil
}

// A renderer knows which named types the text has defined so far.
type renderer struct {
	withDefaults bool
	defined      map[string]bool
}

func (r *renderer) tree(s *schema) any {
	if s.name != "" {
		if r.defined[s.name] {
			return s.name
		}
		r.defined[s.name] = true
	}
	if s.kind == kindUnion {
		branches := make([]any, len(s.branches))
		for i, branch := range s.branches {
			branches[i] = r.tree(branch)
		}
		return branches
	}
	tree := map[string]any{"type": s.kind.String()}
	if s.logical != "" {
		tree["logicalType"] = s.logical
	}
	if s.logical == decimalType {
		tree["precision"], tree["scale"] = s.precision, s.scale
	}
	switch s.kind {
	case kindFixed:
		tree["name"], tree["size"] = s.name, s.size
	case kindEnum:
		tree["name"], tree["symbols"] = s.name, s.symbols
		if s.fallback != "" {
			tree["default"] = s.fallback
		}
	case kindRecord:
		tree["name"], tree["fields"] = s.name, r.fields(s)
	}
	return tree
}

func (r *renderer) fields(s *schema) []any {
	fields := make([]any, len(s.fields))
	for i, f := range s.fields {
		tree := map[string]any{"name": f.name, "type": r.tree(f.typ)}
		if f.fallback != nil && r.withDefaults {
			tree["default"] = f.fallback
		}
		fields[i] = tree
	}
	return fields
}
