// Package settle is the domain: what arrives (Record), what becomes of it
// (Posting or Failure), and what a stream of records has to say about itself
// (Stream). It imports no driver: Kafka types stop at pkg/pipeline,
// pkg/producer and pkg/replay, SQL at pkg/ledger.
package settle

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Record is one consumed Kafka record, as it arrived.
type Record struct {
	Coordinates

	Topic       string
	LeaderEpoch int32 // -1 where the broker gave none
	Timestamp   time.Time
	Key         []byte // nil where the record has none
	Value       []byte
	Headers     []Header
}

// A Header is one header of a record; keys may repeat.
type Header struct {
	Key   string
	Value []byte
}

// Header returns the value of the last header named key. The last one counts
// because tieout appends its own headers behind those it keeps.
func (r *Record) Header(key string) (value []byte, ok bool) {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if r.Headers[i].Key == key {
			return r.Headers[i].Value, true
		}
	}
	return nil, false
}

// A TopicID is Kafka's own id of a topic; a recreated topic has another.
type TopicID [16]byte

// String returns the id as Kafka's own tools print it.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseTopicID is the inverse of TopicID.String.
func ParseTopicID(text string) (id TopicID, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("topic id %q: not 22 characters of base64url", text)
	}
	return TopicID(raw), nil
}

// Coordinates say where a record stands: nothing else identifies one.
type Coordinates struct {
	TopicID   TopicID
	Partition int32
	Offset    int64
}

// String returns the coordinates as the header tieout.source carries them:
// topic id, partition and offset between slashes.
func (c Coordinates) String() string { return string(c.AppendTo(nil)) }

// AppendTo appends what String returns.
func (c Coordinates) AppendTo(dst []byte) []byte {
	dst = base64.RawURLEncoding.AppendEncode(dst, c.TopicID[:])
	dst = strconv.AppendInt(append(dst, '/'), int64(c.Partition), 10)
	return strconv.AppendInt(append(dst, '/'), c.Offset, 10)
}

// ParseCoordinates is the inverse of Coordinates.String.
func ParseCoordinates(text string) (c Coordinates, err error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return c, fmt.Errorf("coordinates %q: want TOPIC-ID/PARTITION/OFFSET", text)
	}
	if c.TopicID, err = ParseTopicID(parts[0]); err != nil {
		return c, fmt.Errorf("coordinates %q: %w", text, err)
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || partition < 0 {
		return c, fmt.Errorf("coordinates %q: partition %q is not one", text, parts[1])
	}
	c.Partition = int32(partition)
	if c.Offset, err = strconv.ParseInt(parts[2], 10, 64); err != nil || c.Offset < 0 {
		return c, fmt.Errorf("coordinates %q: offset %q is not one", text, parts[2])
	}
	return c, nil
}
