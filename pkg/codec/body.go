package codec

import "math"

// A fault is what is wrong with a body, in words; none is empty.
type fault string

// The faults of a body.
const (
	faultTruncated  fault = "ends in the middle of a value"
	faultLeftOver   fault = "goes on behind its value"
	faultOverlong   fault = "number is longer than its value needs"
	faultOutOfRange fault = "number is out of range"
	faultLength     fault = "length is negative or beyond the body's end"
	faultDecimal    fault = "decimal has no bytes"
	faultBoolean    fault = "boolean is neither 0 nor 1"
	faultSymbol     fault = "enum has no such symbol"
	faultBranch     fault = "union has no such branch"
)

// checkBody says why a body isn't exactly one value of the schema, or nil. The
// library's decoder would let through, each silently: trailing bytes, some
// truncated ones, numbers beyond 32 bits, and negative lengths in fields that
// it skips. It allocates before it reads. None of that reaches it.
//
// A number in more bytes than it needs is refused as well, though the
// specification doesn't forbid it: no encoder writes one, and so each value
// has one form only.
func checkBody(s *schema, body []byte) error {
	w := walker{body: body}
	why := w.value(s)
	if why == "" && w.at < len(body) {
		why = faultLeftOver
	}
	if why == "" {
		return nil
	}
	return &DecodeError{Field: w.path, Offset: w.at, Why: string(why)}
}

// A walker goes along a body once.
type walker struct {
	body []byte
	at   int
	path string // of the field at fault
}

// value walks over one value of the schema.
func (w *walker) value(s *schema) fault {
	switch s.kind {
	case kindBoolean:
		return w.boolean()
	case kindInt:
		_, why := w.int()
		return why
	case kindLong:
		_, why := w.long()
		return why
	case kindFloat:
		return w.skip(4)
	case kindDouble:
		return w.skip(8)
	case kindFixed:
		return w.skip(s.size)
	case kindBytes, kindString:
		return w.sized(s)
	case kindEnum:
		return w.symbol(s)
	case kindUnion:
		return w.union(s)
	case kindRecord:
		return w.record(s)
	}
	return "" // null takes no bytes
}

func (w *walker) record(s *schema) fault {
	for i := range s.fields {
		if why := w.value(s.fields[i].typ); why != "" {
			if w.path == "" {
				w.path = s.fields[i].name
			} else {
				w.path = s.fields[i].name + "." + w.path
			}
			return why
		}
	}
	return ""
}

func (w *walker) union(s *schema) fault {
	start := w.at
	branch, why := w.int()
	if why != "" {
		return why
	}
	if branch < 0 || int(branch) >= len(s.branches) {
		w.at = start
		return faultBranch
	}
	return w.value(s.branches[branch])
}

func (w *walker) symbol(s *schema) fault {
	start := w.at
	symbol, why := w.int()
	if why != "" {
		return why
	}
	if symbol < 0 || int(symbol) >= len(s.symbols) {
		w.at = start
		return faultSymbol
	}
	return ""
}

// sized walks over bytes with their length before them. A decimal has at least
// one: libraries read none as zero, as an error, or as whatever was there.
func (w *walker) sized(s *schema) fault {
	start := w.at
	length, why := w.long()
	if why != "" {
		return why
	}
	if length < 0 || length > int64(len(w.body)-w.at) {
		w.at = start
		return faultLength
	}
	if length == 0 && s.logical == decimalType {
		w.at = start
		return faultDecimal
	}
	w.at += int(length)
	return ""
}

func (w *walker) skip(size int) fault {
	if size > len(w.body)-w.at {
		return faultTruncated
	}
	w.at += size
	return ""
}

func (w *walker) boolean() fault {
	if w.at == len(w.body) {
		return faultTruncated
	}
	if w.body[w.at] > 1 {
		return faultBoolean
	}
	w.at++
	return ""
}

func (w *walker) int() (int32, fault) {
	start := w.at
	value, why := w.long()
	if why == "" && (value < math.MinInt32 || value > math.MaxInt32) {
		w.at = start
		return 0, faultOutOfRange
	}
	return int32(value), why
}

// long reads a zig-zag number of variable length.
func (w *walker) long() (int64, fault) {
	const lastShift = 63 // of the tenth byte, which has one bit to give
	var value uint64
	rest := w.body[w.at:]
	for i, b := range rest {
		shift := uint(7 * i)
		if shift == lastShift && b > 1 {
			return 0, faultOutOfRange
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if b == 0 && i > 0 {
				return 0, faultOverlong
			}
			w.at += i + 1
			return int64(value>>1) ^ -int64(value&1), ""
		}
	}
	return 0, faultTruncated
}
