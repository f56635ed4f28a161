// Package codec stands between bytes from the outside and tieout's structs:
// Avro in Confluent's wire format, and the schema registry. It's the only user
// of hamba/avro and of the registry's client.
//
// What it's given may be hostile, and the Avro library below it is archived
// with open reports against its decoder. So a writer's schema is read by this
// package's own parser, which knows nothing but what tieout is ready to read
// (no arrays, no maps, no recursion, bounded in every direction), and the
// library sees only the text that parser writes. A body is first walked along
// that schema, byte by byte and without allocating: when the library decodes
// it, each length in it is known to be there.
package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// headerBytes is the length of the wire format's header.
const headerBytes = 5

// SplitWire splits a record's value into the id of its schema and its body,
// which shares the value's memory.
func SplitWire(value []byte) (schemaID int, body []byte, err error) {
	if len(value) < headerBytes || value[0] != 0 {
		return 0, nil, ErrWireFormat
	}
	id := binary.BigEndian.Uint32(value[1:headerBytes])
	if id > math.MaxInt32 {
		// No registry has such an id: theirs are Java's ints.
		return 0, nil, fmt.Errorf("%w: schema id %d is out of range", ErrWireFormat, id)
	}
	return int(id), value[headerBytes:], nil
}

// appendHeader appends the wire format's header.
func appendHeader(dst []byte, schemaID int) []byte {
	dst = append(dst, 0)
	return binary.BigEndian.AppendUint32(dst, uint32(schemaID))
}
