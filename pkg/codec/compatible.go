package codec

import (
	"fmt"
	"slices"
)

// checkReadable says why bytes of the writer's schema can't be read as the
// reader's, or nil. It's stricter than Avro's schema resolution, which knows
// nothing of money: what both sides have must have the same type, down to
// scale and precision (libraries read another scale shifted by powers of ten,
// and registries let it pass); a field that only the reader has needs a
// default, one that only the writer has is skipped; aliases are never
// followed. Frozen fields have to be there, as themselves.
func checkReadable(reader, writer *schema, path string) error {
	if reader.kind != writer.kind || reader.logical != writer.logical ||
		reader.precision != writer.precision || reader.scale != writer.scale ||
		reader.size != writer.size || reader.shortName() != writer.shortName() {
		return fmt.Errorf("%s is written as %s and read as %s", pathName(path), writer, reader)
	}
	switch reader.kind {
	case kindEnum:
		return checkSymbols(reader, writer, path)
	case kindUnion:
		return checkBranches(reader, writer, path)
	case kindRecord:
		return checkFields(reader, writer, path)
	}
	return nil
}

// pathName is how a message calls what stands at a path.
func pathName(path string) string {
	if path == "" {
		return "the record"
	}
	return "field " + path
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func checkSymbols(reader, writer *schema, path string) error {
	if reader.fallback != "" {
		return nil // it stands for symbols that the reader doesn't know
	}
	for _, symbol := range writer.symbols {
		if !slices.Contains(reader.symbols, symbol) {
			return fmt.Errorf("%s is written with symbol %s, which the reader lacks", pathName(path), symbol)
		}
	}
	return nil
}

// checkBranches takes unions of the same branches, in any order.
func checkBranches(reader, writer *schema, path string) error {
	if len(reader.branches) != len(writer.branches) {
		return fmt.Errorf("%s is written as %s and read as %s", pathName(path), writer, reader)
	}
	for _, w := range writer.branches {
		i := slices.IndexFunc(reader.branches, func(r *schema) bool {
			return r.kind == w.kind && r.shortName() == w.shortName()
		})
		if i < 0 {
			return fmt.Errorf("%s is written as %s and read as %s", pathName(path), writer, reader)
		}
		if err := checkReadable(reader.branches[i], w, path); err != nil {
			return err
		}
	}
	return nil
}

func checkFields(reader, writer *schema, path string) error {
	for i := range reader.fields {
		r := &reader.fields[i]
		at := joinPath(path, r.name)
		if r.isFrozen() {
			if err := checkFrozen(writer, r.name, at); err != nil {
				return err
			}
		}
		w := writer.fieldNamed(r.name)
		if w == nil {
			if r.fallback == nil {
				return fmt.Errorf("%s isn't written and has no default", pathName(at))
			}
			continue
		}
		if err := checkReadable(r.typ, w.typ, at); err != nil {
			return err
		}
	}
	return nil
}

// checkFrozen says why a record doesn't have a frozen field as itself. A
// default would let a value that nobody stated into a key or an amount; an
// alias, a value that was stated as something else.
func checkFrozen(record *schema, name, at string) error {
	f := record.fieldNamed(name)
	switch {
	case f == nil:
		return fmt.Errorf("%s is frozen and isn't written", pathName(at))
	case f.fallback != nil:
		return fmt.Errorf("%s is frozen and has a default", pathName(at))
	case len(f.aliases) > 0:
		return fmt.Errorf("%s is frozen and has an alias", pathName(at))
	}
	for i := range record.fields {
		if slices.Contains(record.fields[i].aliases, name) {
			return fmt.Errorf("%s is frozen and is an alias of field %s", pathName(at), record.fields[i].name)
		}
	}
	return nil
}

// checkOwnRules says why a schema breaks the rules that it's meant to hold
// others to: it must be able to read itself, and nothing in it may have an
// alias, which checkReadable wouldn't follow.
func checkOwnRules(s *schema, path string) error {
	if err := checkReadable(s, s, path); err != nil {
		return err
	}
	return checkNoAliases(s, path)
}

func checkNoAliases(s *schema, path string) error {
	for _, branch := range s.branches {
		if err := checkNoAliases(branch, path); err != nil {
			return err
		}
	}
	for i := range s.fields {
		at := joinPath(path, s.fields[i].name)
		if len(s.fields[i].aliases) > 0 {
			return fmt.Errorf("%s has an alias, and aliases aren't followed", pathName(at))
		}
		if err := checkNoAliases(s.fields[i].typ, at); err != nil {
			return err
		}
	}
	return nil
}

// checkStillFrozen says which field that an earlier version had frozen isn't
// frozen, or isn't itself, in a later one; nil if there's none.
func checkStillFrozen(earlier, later *schema, path string) error {
	for i := range earlier.fields {
		e := &earlier.fields[i]
		if !e.isFrozen() {
			continue
		}
		at := joinPath(path, e.name)
		if err := checkFrozen(later, e.name, at); err != nil {
			return err
		}
		l := later.fieldNamed(e.name)
		if e.frozen && !l.frozen {
			return fmt.Errorf("%s is frozen and isn't marked so any more", pathName(at))
		}
		if err := checkStillFrozen(e.typ, l.typ, at); err != nil {
			return err
		}
	}
	return nil
}
