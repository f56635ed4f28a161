// Package settletest is what the tests of every stream have in common: a record
// that arrives without Avro, faults in the order in which they're found, a row
// written down, and the ledger's part of the design in a map.
package settletest

import (
	"fmt"

	"github.com/tieout/tieout/pkg/settle"
)

// An Arrival is one record of a stream with the envelope that it decodes to:
// what Settle does is tested by it; what Avro does, in pkg/codec.
type Arrival[E any] struct {
	Stream   settle.Stream
	Record   settle.Record
	Envelope E
	// Undecodable is the error of decoding it.
	Undecodable error
	// SetKey writes the envelope's reconciliation key.
	SetKey func(envelope *E, key string)
}

// Decode hands the envelope over. It implements settle.Decoder.
func (a *Arrival[E]) Decode(_ []byte, into any) error {
	envelope, ok := into.(*E)
	if !ok {
		return fmt.Errorf("%T isn't what the schema is decoded into", into)
	}
	*envelope = a.Envelope
	return a.Undecodable
}

// Settle is the stream's.
func (a *Arrival[E]) Settle() (settle.Posting, *settle.Failure) {
	return a.Stream.Settle(&a.Record, nil, a)
}

// Seal gives envelope and record the key of the envelope's identity, where its
// form has one.
func (a *Arrival[E]) Seal() error {
	envelope, ok := any(&a.Envelope).(settle.Envelope)
	if !ok {
		return fmt.Errorf("%T isn't an envelope", a.Envelope)
	}
	if key, failure := envelope.CheckForm(); failure == nil {
		a.SetKey(&a.Envelope, key.Hex())
	}
	stated, _ := envelope.Stated()
	a.Record.Key = []byte(stated)
	return nil
}
