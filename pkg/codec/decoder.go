package codec

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/hamba/avro/v2"
)

// A decoder decodes the bodies of one writer's schema.
type decoder struct {
	target       reflect.Type
	writer       *schema
	resolved     avro.Schema
	api          avro.API
	maxBodyBytes int

	readers sync.Pool // of *avro.Reader
}

// Decode replaces all of what into points to by the body's value. Text and
// bytes in it share small blocks with one another: it's fine to keep them, but
// never append to such bytes in place. After an error the value means nothing.
func (d *decoder) Decode(body []byte, into any) error {
	if len(body) > d.maxBodyBytes {
		return fmt.Errorf("%w: %d bytes, more than %d", ErrBodyTooLarge, len(body), d.maxBodyBytes)
	}
	value := reflect.ValueOf(into)
	if !value.IsValid() || value.Type() != d.target || value.IsNil() {
		return fmt.Errorf("%w: want a %s, not %T", ErrType, d.target, into)
	}
	if err := checkBody(d.writer, body); err != nil {
		return err
	}
	// The library turns a slice that held something into null by clearing its
	// pointer and not its length; on a zero value there's none to keep.
	value.Elem().SetZero()
	return d.read(body, into)
}

// read has the library decode what has been checked. Its own errors are looked
// at all the same, the end of the body too.
func (d *decoder) read(body []byte, into any) error {
	r, ok := d.readers.Get().(*avro.Reader)
	if !ok {
		r = avro.NewReader(nil, 0, avro.WithReaderConfig(d.api))
	}
	r.Error = nil // Reset leaves it
	r.Reset(body)
	r.ReadVal(d.resolved, into)
	err := r.Error
	if err == nil {
		r.Peek()
		if r.Error == nil {
			err = &DecodeError{Why: string(faultLeftOver)}
		}
	} else {
		err = &DecodeError{Why: oneLine(err.Error())}
	}
	r.Reset(nil) // a pooled reader holds no record's memory
	d.readers.Put(r)
	return err
}
