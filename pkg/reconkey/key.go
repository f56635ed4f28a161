// Package reconkey computes what identifies a thing: the SHA-256 of its
// business identity. The same identity has the same key in every run, delivery
// and language; Python's hashlib and json.dumps are the reference.
package reconkey

import (
	"encoding/hex"
	"fmt"
)

// A Key identifies one thing, all its versions alike.
type Key [32]byte

// hexChars is the length of a key in text.
const hexChars = 2 * len(Key{})

// Hex returns the key as it stands in records and on screens: 64 lower-case
// hexadecimal characters.
func (k Key) Hex() string { return hex.EncodeToString(k[:]) }

// AppendHex appends what Hex returns.
func (k Key) AppendHex(dst []byte) []byte { return hex.AppendEncode(dst, k[:]) }

// ParseHex is the inverse of Hex. It takes no other spelling: a key's bytes are
// compared, upper case would be another key.
func ParseHex(text string) (Key, error) {
	var k Key
	if len(text) != hexChars {
		return Key{}, fmt.Errorf("%w: %d characters", ErrNotAKey, len(text))
	}
	for i := range k {
		high, okHigh := nibble(text[2*i])
		low, okLow := nibble(text[2*i+1])
		if !okHigh || !okLow {
			return Key{}, fmt.Errorf("%w: %q", ErrNotAKey, text)
		}
		k[i] = high<<4 | low
	}
	return k, nil
}

func nibble(char byte) (value byte, ok bool) {
	switch {
	case '0' <= char && char <= '9':
		return char - '0', true
	case 'a' <= char && char <= 'f':
		return char - 'a' + 10, true
	}
	return 0, false
}
