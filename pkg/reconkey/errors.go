package reconkey

import (
	"errors"
	"fmt"
)

// ErrNotAKey is about text that isn't 64 lower-case hexadecimal characters.
var ErrNotAKey = errors.New("not a key in 64 lower-case hexadecimal characters")

// A SeparatorError says which part of an identity holds the character that
// stands between parts: two identities could have the same key then.
type SeparatorError struct {
	Part  string // its field's name
	Value string
}

func (e *SeparatorError) Error() string {
	return fmt.Sprintf("%s %q holds the separator %q", e.Part, e.Value, separator)
}
