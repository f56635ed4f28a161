package codec

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/hamba/avro/v2"
)

// An Encoder encodes values of one registered schema, in the wire format. It's
// safe for concurrent use.
type Encoder struct {
	schema   *schema
	resolved avro.Schema
	schemaID int
	api      avro.API

	checked sync.Map  // reflect.Type to error or nil: whether the type fits the schema
	writers sync.Pool // of *avro.Writer
}

// NewEncoder makes an encoder of the schema that the registry knows by that id.
func NewEncoder(writerSchema string, schemaID int) (*Encoder, error) {
	s, err := parseSchema(writerSchema)
	if err == nil {
		err = checkOwnRules(s, "")
	}
	if err != nil {
		return nil, fmt.Errorf("codec encoder: the schema can't be used: %w", err)
	}
	text, err := s.text(false)
	if err != nil {
		return nil, fmt.Errorf("codec encoder: %w", err)
	}
	resolved, err := avro.ParseWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("codec encoder: the schema can't be used: %w", err)
	}
	api := avro.Config{TagKey: tagKey}.Freeze()
	return &Encoder{schema: s, resolved: resolved, schemaID: schemaID, api: api}, nil
}

// writerBytes is what a writer starts with: a usual envelope fits.
const writerBytes = 1024

// Append appends v, a struct or a pointer to one, in the wire format: header
// and body. Its type must have a field for each of the schema's.
func (e *Encoder) Append(dst []byte, v any) ([]byte, error) {
	if err := e.fits(v); err != nil {
		return dst, fmt.Errorf("encode %s: %w", e.schema, err)
	}
	w, ok := e.writers.Get().(*avro.Writer)
	if !ok {
		w = avro.NewWriter(nil, writerBytes, avro.WithWriterConfig(e.api))
	}
	w.Error = nil // Reset leaves it
	w.Reset(nil)
	defer e.writers.Put(w)
	w.WriteVal(e.resolved, v)
	if w.Error != nil {
		return dst, fmt.Errorf("encode %s: %w", e.schema, w.Error)
	}
	// What a decoder would refuse is never written: a decimal that was
	// forgotten has no bytes, and no library objects.
	if err := checkBody(e.schema, w.Buffer()); err != nil {
		return dst, fmt.Errorf("encode %s: %w", e.schema, err)
	}
	return append(appendHeader(dst, e.schemaID), w.Buffer()...), nil
}

// fits says why v can't be encoded for its type, or nil.
func (e *Encoder) fits(v any) error {
	t := reflect.TypeOf(v)
	if t == nil {
		return ErrType
	}
	if verdict, ok := e.checked.Load(t); ok {
		err, _ := verdict.(error)
		return err
	}
	to := t
	if t.Kind() == reflect.Pointer {
		to = t.Elem()
	}
	err := checkTarget(e.schema, to, "")
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrType, err)
	}
	e.checked.Store(t, err)
	return err
}
