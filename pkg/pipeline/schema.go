package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/settle"
)

// unknownSchemaRetry is how often the registry is asked again for an id that it
// answered with 404; maxUnknownSchemas bounds how many such ids are remembered,
// so that a flood of invented ids costs no memory.
const (
	unknownSchemaRetry = 5 * time.Second
	maxUnknownSchemas  = 1024
)

// A schemaFinder finds the decoder of a schema id. An id that the registry doesn't
// know is given time, since a registry's replicas may lag behind a producer;
// then its records are dead letters, at once for as long as the answer stays
// the same. A registry that is away convicts nobody.
type schemaFinder struct {
	decoders *codec.Decoders
	wait     time.Duration

	mu      sync.Mutex
	unknown map[int]unknownSchema
}

type unknownSchema struct{ first, asked time.Time }

func newSchemaFinder(decoders *codec.Decoders, wait time.Duration) *schemaFinder {
	return &schemaFinder{decoders: decoders, wait: wait, unknown: map[int]unknownSchema{}}
}

// errSchemaPending says that an id is unknown and still has time.
var errSchemaPending = errors.New("the registry doesn't know the schema id (yet)")

// find returns the decoder, or the record's failure, or an error that is
// nobody's fault.
func (s *schemaFinder) find(ctx context.Context, id int) (settle.Decoder, *settle.Failure, error) {
	if decoder, ok := s.decoders.Cached(id); ok {
		return decoder, nil, nil
	}
	now := time.Now()
	if known, ok := s.lookup(id); ok && now.Sub(known.asked) < unknownSchemaRetry {
		failure, err := s.judge(id, known, now)
		return nil, failure, err
	}
	decoder, err := s.decoders.Resolve(ctx, id)
	var refused *codec.RefusedSchemaError
	switch {
	case err == nil:
		s.forget(id)
		return decoder, nil, nil
	case errors.As(err, &refused):
		return nil, settle.Structural(settle.ReasonRefusedSchema, "", "").WithDetail("%v", refused), nil
	case errors.Is(err, codec.ErrUnknownSchema):
		failure, err := s.judge(id, s.remember(id, now), now)
		return nil, failure, err
	default:
		return nil, nil, err
	}
}

// judge says of an unknown id that it still has time, or that its time is over.
func (s *schemaFinder) judge(id int, known unknownSchema, now time.Time) (*settle.Failure, error) {
	if now.Sub(known.first) < s.wait {
		return nil, errSchemaPending
	}
	return settle.Structural(settle.ReasonUnknownSchema, "", "").WithDetail("the registry has no schema id %d", id), nil
}

func (s *schemaFinder) lookup(id int) (unknownSchema, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.unknown[id]
	return known, ok
}

func (s *schemaFinder) remember(id int, now time.Time) unknownSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.unknown[id]
	if !ok {
		if len(s.unknown) >= maxUnknownSchemas {
			clear(s.unknown)
		}
		known.first = now
	}
	known.asked = now
	s.unknown[id] = known
	return known
}

func (s *schemaFinder) forget(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unknown, id)
}
