package pipeline

import (
	"errors"
	"fmt"
)

// ErrFencedByName ends a worker: another process works under its name, and the
// broker takes the younger one.
var ErrFencedByName = errors.New("another worker is called by this name")

// ErrNotDrained ends a drain that can't come to an end by itself.
var ErrNotDrained = errors.New("not drained")

// A HaltedError names a partition on which a drain can't go on.
type HaltedError struct {
	Topic     string
	Partition int32
	Reason    string
	Detail    string
}

func (e *HaltedError) Error() string {
	return fmt.Sprintf("%s[%d] is halted: %s: %s", e.Topic, e.Partition, e.Reason, e.Detail)
}

func (e *HaltedError) Unwrap() error { return ErrNotDrained }

// errNewSession says that what the Kafka session holds can't be trusted any
// more: all batches are dropped and the next session starts at step 1.
var errNewSession = errors.New("the session is given up")

// sessionLost wraps why a session is given up.
func sessionLost(why error) error { return fmt.Errorf("%w: %w", errNewSession, why) }
