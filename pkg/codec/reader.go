package codec

import (
	"fmt"
	"reflect"

	"github.com/hamba/avro/v2"

	"github.com/tieout/tieout/pkg/settle"
)

// DefaultMaxBodyBytes is what ReaderOptions.MaxBodyBytes is where it's not set:
// the size to which Kafka itself bounds a batch unless told otherwise, and a
// thousand times a usual envelope.
const DefaultMaxBodyBytes = 1 << 20

// ReaderOptions are the bounds of a Reader.
type ReaderOptions struct {
	// MaxBodyBytes bounds a body, and with it what decoding one can allocate.
	MaxBodyBytes int
}

// Validate sets what isn't set and says what can't be.
func (o *ReaderOptions) Validate() error {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.MaxBodyBytes < 0 {
		return fmt.Errorf("MaxBodyBytes is %d", o.MaxBodyBytes)
	}
	return nil
}

// A Reader reads one kind of record into one Go type, whoever wrote it: it
// makes a decoder for each writer's schema, or refuses it. It's safe for
// concurrent use.
type Reader struct {
	schema *schema
	text   string
	target reflect.Type // a struct
	opts   ReaderOptions
}

// NewReader makes a reader of a schema that decodes into target's type, a
// struct with a tag avro on each field. What is nullable is a pointer, or for
// bytes a []byte that may be nil.
func NewReader(readerSchema string, target any, opts ReaderOptions) (*Reader, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("codec reader: %w", err)
	}
	s, err := parseSchema(readerSchema)
	if err != nil {
		return nil, fmt.Errorf("codec reader: the schema can't be used: %w", err)
	}
	if err := checkOwnRules(s, ""); err != nil {
		return nil, fmt.Errorf("codec reader: the schema can't be used: %w", err)
	}
	typ := reflect.TypeOf(target)
	if s.kind != kindRecord || typ == nil {
		return nil, fmt.Errorf("codec reader: want a record and a struct, not %s and %T", s, target)
	}
	if err := checkTarget(s, typ, ""); err != nil {
		return nil, fmt.Errorf("codec reader: %w", err)
	}
	text, err := s.text(true)
	if err != nil {
		return nil, fmt.Errorf("codec reader: %w", err)
	}
	r := &Reader{schema: s, text: text, target: typ, opts: opts}
	if _, err := r.newDecoder(s); err != nil {
		return nil, fmt.Errorf("codec reader: the schema can't read itself: %w", err)
	}
	return r, nil
}

// Decoder makes the decoder for bodies of the writer's schema, which the
// registry knows by that id. The error is a *RefusedSchemaError. Decoders are
// safe for concurrent use.
func (r *Reader) Decoder(schemaID int, writerSchema string) (settle.Decoder, error) {
	writer, err := parseSchema(writerSchema)
	if err == nil {
		err = checkReadable(r.schema, writer, "")
	}
	if err != nil {
		return nil, &RefusedSchemaError{ID: schemaID, Why: oneLine(err.Error())}
	}
	d, err := r.newDecoder(writer)
	if err != nil {
		return nil, &RefusedSchemaError{ID: schemaID, Why: oneLine(err.Error())}
	}
	return d, nil
}

// newDecoder makes a decoder and tries it, since the library finds out only
// when it decodes that something can't be.
func (r *Reader) newDecoder(writer *schema) (*decoder, error) {
	resolved, err := r.resolve(writer)
	if err != nil {
		return nil, err
	}
	// Each decoder has a configuration of its own, because the library keeps
	// its decoders there by a fingerprint that neither defaults nor logical
	// types are part of.
	config := avro.Config{TagKey: tagKey, MaxByteSliceSize: r.opts.MaxBodyBytes, MaxSliceAllocSize: r.opts.MaxBodyBytes}
	d := &decoder{
		target:       reflect.PointerTo(r.target),
		writer:       writer,
		resolved:     resolved,
		maxBodyBytes: r.opts.MaxBodyBytes,
		api:          config.Freeze(),
	}
	for branch := range maxBranches {
		sample := appendSample(nil, writer, branch)
		if err := d.Decode(sample, reflect.New(r.target).Interface()); err != nil {
			return nil, fmt.Errorf("a sample of it can't be decoded: %w", err)
		}
	}
	return d, nil
}

// resolve has the library work out how to read the writer's bytes as the
// reader's schema. Both are parsed afresh: it would otherwise keep names and
// verdicts from one writer to the next.
func (r *Reader) resolve(writer *schema) (avro.Schema, error) {
	text, err := writer.text(false)
	if err != nil {
		return nil, err
	}
	from, err := avro.ParseWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, err
	}
	to, err := avro.ParseWithCache(r.text, "", &avro.SchemaCache{})
	if err != nil {
		return nil, err
	}
	return avro.NewSchemaCompatibility().Resolve(to, from)
}

// appendSample appends a small value of the schema: zeros, and in each union
// the given branch, or its last one.
func appendSample(dst []byte, s *schema, branch int) []byte {
	switch s.kind {
	case kindNull:
		return dst
	case kindFloat:
		return append(dst, make([]byte, 4)...)
	case kindDouble:
		return append(dst, make([]byte, 8)...)
	case kindFixed:
		return append(dst, make([]byte, s.size)...)
	case kindBytes:
		return append(dst, 1<<1, 0) // one byte, as a decimal has at least
	case kindUnion:
		branch = min(branch, len(s.branches)-1)
		return appendSample(append(dst, byte(branch<<1)), s.branches[branch], branch)
	case kindRecord:
		for i := range s.fields {
			dst = appendSample(dst, s.fields[i].typ, branch)
		}
		return dst
	}
	return append(dst, 0)
}
