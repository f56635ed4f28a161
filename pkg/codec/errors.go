package codec

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

var (
	// ErrWireFormat is returned for a record value that isn't in Confluent's
	// wire format: magic 0, four bytes of schema id, body.
	ErrWireFormat = errors.New("not in the wire format: want magic byte 0 and a schema id of four bytes")

	// ErrBodyTooLarge is returned, before anything is decoded, for a body that
	// is longer than ReaderOptions.MaxBodyBytes.
	ErrBodyTooLarge = errors.New("body is too large")

	// ErrUnknownSchema is returned for a schema id that the registry says it
	// doesn't have. It may have it soon: producers register before they
	// enqueue, but registries have replicas.
	ErrUnknownSchema = errors.New("the registry has no such schema")

	// ErrNotRegistered is returned by Lookup where the subject doesn't have
	// the schema.
	ErrNotRegistered = errors.New("not registered")

	// ErrType is returned where a value isn't of the type that a decoder or an
	// encoder is for.
	ErrType = errors.New("value of the wrong type, or nil")
)

// A DecodeError says why a body isn't exactly one value of the schema that it
// claims to have.
type DecodeError struct {
	Field  string // dotted path; empty where the whole body is at fault
	Offset int    // in the body; where it went wrong
	Why    string
}

// Error returns the fault in one line.
func (e *DecodeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("body: %s at byte %d", e.Why, e.Offset)
	}
	return fmt.Sprintf("%s: %s at byte %d", e.Field, e.Why, e.Offset)
}

// A RefusedSchemaError says why tieout doesn't read what is written in a
// schema. It stays refused: the registry never changes what an id stands for.
type RefusedSchemaError struct {
	ID  int
	Why string
}

// Error returns the refusal in one line.
func (e *RefusedSchemaError) Error() string {
	return fmt.Sprintf("schema %d is refused: %s", e.ID, e.Why)
}

// An IncompatibleSchemaError says why a schema isn't registered under a
// subject.
type IncompatibleSchemaError struct {
	Subject string
	Version int // the registered version that it conflicts with; 0 where it's the schema itself or the registry doesn't say
	Why     string
}

// Error returns the refusal in one line.
func (e *IncompatibleSchemaError) Error() string {
	if e.Version == 0 {
		return fmt.Sprintf("subject %s: the schema is refused: %s", e.Subject, e.Why)
	}
	return fmt.Sprintf("subject %s: the schema doesn't go with version %d: %s", e.Subject, e.Version, e.Why)
}

// A RegistryError is anything that keeps the registry from answering: it's
// away, slow, refuses the credentials, or answers what no registry would. It
// says nothing about a record.
type RegistryError struct {
	URL    string // of the registry; it never holds credentials
	Asked  string // what for, in words
	Status int    // of the answer over HTTP; 0 where there was none
	Why    string
	Err    error
}

// Error returns what happened in one line.
func (e *RegistryError) Error() string {
	return fmt.Sprintf("schema registry %s: %s: %s", e.URL, e.Asked, e.Why)
}

// Unwrap returns the cause.
func (e *RegistryError) Unwrap() error { return e.Err }

// maxShownBytes bounds what is shown of a text that a server sent.
const maxShownBytes = 200

// oneLine makes a server's text fit for a line on a terminal.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
	if len(text) > maxShownBytes {
		text = strings.ToValidUTF8(text[:maxShownBytes], "") + "..."
	}
	return text
}
