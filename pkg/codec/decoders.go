package codec

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tieout/tieout/pkg/settle"
)

// maxDecoders bounds what Decoders keeps. A topic has a handful of schemas;
// more come only from records that name other subjects' ids, and those make
// room for one another.
const maxDecoders = 256

// Decoders gives the decoder of each schema id, read from the registry once.
// Refusals are kept as well, so that a record in a refused schema costs no
// request each time. That the registry lacks an id is not kept: it may have it
// a moment later. It's safe for concurrent use.
type Decoders struct {
	registry *Registry
	reader   *Reader

	mu    sync.Mutex // held by writers of known
	known atomic.Pointer[map[int]verdict]
}

// A verdict on a schema is a decoder or a refusal.
type verdict struct {
	decoder settle.Decoder
	refusal *RefusedSchemaError
}

// NewDecoders makes an empty cache of the reader's decoders.
func NewDecoders(registry *Registry, reader *Reader) *Decoders {
	d := &Decoders{registry: registry, reader: reader}
	d.known.Store(&map[int]verdict{})
	return d
}

// Cached returns the decoder of a schema that has been resolved before and not
// been refused. It takes no lock and does no I/O.
func (d *Decoders) Cached(schemaID int) (settle.Decoder, bool) {
	v := (*d.known.Load())[schemaID]
	return v.decoder, v.decoder != nil
}

// Resolve returns the decoder of a schema, asking the registry where it's not
// known yet. The error is ErrUnknownSchema, a *RefusedSchemaError or a
// *RegistryError; only the last says nothing about the record.
func (d *Decoders) Resolve(ctx context.Context, schemaID int) (settle.Decoder, error) {
	if v, ok := (*d.known.Load())[schemaID]; ok {
		return v.result()
	}
	v, err := d.resolve(ctx, schemaID)
	if err != nil {
		return nil, err
	}
	d.keep(schemaID, v)
	return v.result()
}

func (v verdict) result() (settle.Decoder, error) {
	if v.refusal != nil {
		return nil, v.refusal
	}
	return v.decoder, nil
}

// resolve reads the schema and decides on it.
func (d *Decoders) resolve(ctx context.Context, schemaID int) (verdict, error) {
	var (
		decoder settle.Decoder
		refusal *RefusedSchemaError
	)
	text, err := d.registry.Schema(ctx, schemaID)
	if err == nil {
		decoder, err = d.reader.Decoder(schemaID, text)
	}
	if errors.As(err, &refusal) {
		return verdict{refusal: refusal}, nil
	}
	return verdict{decoder: decoder}, err
}

// keep adds a verdict, in a copy of the map, so that readers need no lock.
func (d *Decoders) keep(schemaID int, v verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := maps.Clone(*d.known.Load())
	for id := range known {
		if len(known) < maxDecoders {
			break
		}
		delete(known, id) // any: the registry still has it
	}
	known[schemaID] = v
	d.known.Store(&known)
}
