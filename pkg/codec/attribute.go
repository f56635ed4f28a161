package codec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// decimalType is the one logical type that has attributes of its own.
const decimalType = "decimal"

// readLogical reads the logical type. A decimal without sound precision and
// scale would be read as bare bytes by one library and as something else by
// another.
func (s *schema) readLogical(tree map[string]any) (err error) {
	logical, ok := tree["logicalType"]
	if !ok {
		return nil
	}
	if s.logical, ok = logical.(string); !ok {
		return fmt.Errorf("%v isn't a logical type's name", logical)
	}
	if s.logical != decimalType {
		return nil
	}
	if s.kind != kindBytes && s.kind != kindFixed {
		return fmt.Errorf("a decimal is written as %s", s.kind)
	}
	if s.precision, err = readInt(tree, "precision"); err != nil {
		return fmt.Errorf("a decimal: %w", err)
	}
	if _, ok := tree["scale"]; ok {
		if s.scale, err = readInt(tree, "scale"); err != nil {
			return fmt.Errorf("a decimal: %w", err)
		}
	}
	if s.precision < 1 || s.scale < 0 || s.scale > s.precision {
		return fmt.Errorf("decimal(%d,%d) has no sound precision and scale", s.precision, s.scale)
	}
	return nil
}

// readInt reads a whole number, written as one.
func readInt(tree map[string]any, attribute string) (int, error) {
	number, ok := tree[attribute].(json.Number)
	if !ok {
		return 0, fmt.Errorf("its %s isn't a number", attribute)
	}
	value, err := number.Int64()
	if err != nil {
		return 0, fmt.Errorf("its %s %s isn't a whole number", attribute, number)
	}
	return int(value), nil
}

// readNames reads a list of names; none where the attribute isn't there.
func readNames(tree map[string]any, attribute string) ([]string, error) {
	value, ok := tree[attribute]
	if !ok {
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("its %s aren't a list", attribute)
	}
	names := make([]string, len(list))
	for i, name := range list {
		if names[i], ok = name.(string); !ok {
			return nil, fmt.Errorf("its %s have %v among them", attribute, name)
		}
	}
	return names, nil
}

// fullName puts a name into a namespace, unless it has one.
func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// isName says whether the specification allows the name, without a namespace,
// and it fits into an error message.
func isName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', c == '_':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxNameBytes
}
