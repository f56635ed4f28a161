package producer

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/oklog/ulid/v2"
)

// ids makes ULIDs that only grow, also where the clock is set back.
type ids struct {
	now     func() time.Time
	entropy *ulid.MonotonicEntropy
	last    uint64 // milliseconds
}

func newIDs(now func() time.Time, entropy io.Reader) *ids {
	return &ids{now: now, entropy: ulid.Monotonic(entropy, 0)}
}

func (i *ids) next() (string, error) {
	i.last = max(i.last, ulid.Timestamp(i.now()))
	id, err := ulid.New(i.last, i.entropy)
	if errors.Is(err, ulid.ErrMonotonicOverflow) {
		i.last++ // this millisecond has no larger id left
		id, err = ulid.New(i.last, i.entropy)
	}
	if err != nil {
		return "", fmt.Errorf("make a message id: %w", err)
	}
	return id.String(), nil
}
