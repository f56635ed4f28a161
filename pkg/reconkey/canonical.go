package reconkey

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// An Identity is what tells one thing from another, as named members. Its order
// doesn't matter; its names differ.
type Identity []Member

// A Member is one named part of an identity.
type Member struct {
	name    string
	text    string
	integer int64
	kind    memberKind
}

type memberKind uint8

const (
	kindNull memberKind = iota
	kindText
	kindInteger
)

// Text makes a member of text.
func Text(name, value string) Member { return Member{name: name, text: value, kind: kindText} }

// Integer makes a member of an integer.
func Integer(name string, value int64) Member {
	return Member{name: name, integer: value, kind: kindInteger}
}

// Null makes a member that is absent.
func Null(name string) Member { return Member{name: name, kind: kindNull} }

// Key returns the SHA-256 of the identity's canonical JSON.
func (id Identity) Key() Key {
	var buffer [usualBytes]byte
	return sha256.Sum256(id.AppendJSON(buffer[:0]))
}

// AppendJSON appends the identity's canonical JSON, which is what Python's
// json.dumps(identity, sort_keys=True, separators=(",", ":")) writes, byte for
// byte.
func (id Identity) AppendJSON(dst []byte) []byte {
	byName := func(a, b Member) int { return cmp.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(id, byName) {
		id = slices.SortedFunc(slices.Values(id), byName)
	}
	dst = append(dst, '{')
	for i := range id {
		m := &id[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.name), ':')
		switch m.kind {
		case kindText:
			dst = appendString(dst, m.text)
		case kindInteger:
			dst = strconv.AppendInt(dst, m.integer, 10)
		default:
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

// appendString appends a JSON string as Python writes it with ensure_ascii: all
// but printable ASCII is escaped, DEL too, and nothing more is: no <, > or &,
// as Go's encoding/json would.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	copied := 0
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c <= '~' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[copied:i]...)
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case size == 1 && r == utf8.RuneError:
			// Not UTF-8, which a worker has refused before it asks for a key.
			// Python smuggles such a byte through text as a lone surrogate;
			// with a replacement character, identities would share a key.
			dst = appendUnit(dst, 0xdc00|rune(s[i]))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendEscaped(dst, r)
		}
		i += size
		copied = i
	}
	dst = append(dst, s[copied:]...)
	return append(dst, '"')
}

// appendEscaped appends a character that needs it, by its short name where it
// has one.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	}
	return appendUnit(dst, r)
}

// appendUnit appends one UTF-16 unit.
func appendUnit(dst []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[unit>>12], digits[unit>>8&0xf], digits[unit>>4&0xf], digits[unit&0xf])
}
