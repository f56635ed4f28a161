package codec

import (
	"fmt"
	"reflect"
	"time"
)

// tagKey is the struct tag that names a field's counterpart in the schema.
const tagKey = "avro"

// checkTarget says why a Go type doesn't hold exactly what the schema says, or
// nil. The library would skip a field whose tag is misspelt, write a default
// for it, and cut a number to fit a smaller type, all without a word.
func checkTarget(s *schema, t reflect.Type, path string) error {
	if s.kind == kindRecord {
		return checkStruct(s, t, path)
	}
	if s.kind == kindUnion {
		typ := s.nullable()
		switch {
		case typ == nil:
			return fmt.Errorf("%s is a union of more than null and one type", pathName(path))
		case t.Kind() == reflect.Pointer:
			return checkTarget(typ, t.Elem(), path)
		case typ.kind == kindBytes:
			return checkTarget(typ, t, path) // nil is null
		}
		return fmt.Errorf("%s is %s and needs a pointer, not %s", pathName(path), s, t)
	}
	if !holds(s, t) {
		return fmt.Errorf("%s is %s and doesn't go into %s", pathName(path), s, t)
	}
	return nil
}

// holds says whether a Go type holds every value of a type that's neither
// union nor record.
func holds(s *schema, t reflect.Type) bool {
	switch s.kind {
	case kindBoolean:
		return t.Kind() == reflect.Bool
	case kindInt:
		return t.Kind() == reflect.Int32
	case kindLong:
		return t.Kind() == reflect.Int64 && t != reflect.TypeFor[time.Duration]() // which the library scales
	case kindFloat:
		return t.Kind() == reflect.Float32
	case kindDouble:
		return t.Kind() == reflect.Float64
	case kindString, kindEnum:
		return t.Kind() == reflect.String
	case kindBytes:
		return t == reflect.TypeFor[[]byte]()
	case kindFixed:
		return t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == s.size
	}
	return false
}

func checkStruct(s *schema, t reflect.Type, path string) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%s is %s and doesn't go into %s", pathName(path), s, t)
	}
	tagged := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get(tagKey)
		switch {
		case f.Anonymous || !f.IsExported() || name == "":
			return fmt.Errorf("%s.%s is embedded, not exported or has no tag %s", t, f.Name, tagKey)
		case tagged[name] != nil:
			return fmt.Errorf("%s has two fields with tag %s", t, name)
		case s.fieldNamed(name) == nil:
			return fmt.Errorf("%s.%s has tag %s, which %s lacks", t, f.Name, name, s)
		}
		tagged[name] = f.Type
	}
	for i := range s.fields {
		name := s.fields[i].name
		if tagged[name] == nil {
			return fmt.Errorf("%s has nothing for %s", t, pathName(joinPath(path, name)))
		}
		if err := checkTarget(s.fields[i].typ, tagged[name], joinPath(path, name)); err != nil {
			return err
		}
	}
	return nil
}
