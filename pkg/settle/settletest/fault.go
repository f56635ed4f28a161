package settletest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// A Fault is one thing wrong with an arrival, and what it must be called.
type Fault[E any] struct {
	Name   string
	Class  settle.Class
	Reason settle.Reason
	Field  string

	// One of the two spoils the arrival: before it's given its key, or after.
	envelope func(*E)
	record   func(*Arrival[E])
}

// Structural begins a fault of form.
func Structural[E any](reason settle.Reason, field, name string) Fault[E] {
	return Fault[E]{Name: name, Class: settle.ClassStructural, Reason: reason, Field: field}
}

// Business begins a fault of content.
func Business[E any](reason settle.Reason, field, name string) Fault[E] {
	return Fault[E]{Name: name, Class: settle.ClassBusiness, Reason: reason, Field: field}
}

// InEnvelope puts the fault into the envelope.
func (f Fault[E]) InEnvelope(spoil func(*E)) Fault[E] { f.envelope = spoil; return f }

// InRecord puts the fault into the record, whose key stays that of the
// envelope's identity.
func (f Fault[E]) InRecord(spoil func(*Arrival[E])) Fault[E] { f.record = spoil; return f }

// WithHeader puts the fault into a header.
func (f Fault[E]) WithHeader(key, value string) Fault[E] {
	return f.InRecord(func(a *Arrival[E]) {
		a.Record.Headers = append(a.Record.Headers, settle.Header{Key: key, Value: []byte(value)})
	})
}

// DecodingFaults are those of every stream that are found first of all.
func DecodingFaults[E any]() []Fault[E] {
	return []Fault[E]{
		Structural[E](settle.ReasonUndecodable, "", "doesn't decode").
			InRecord(func(a *Arrival[E]) { a.Undecodable = errors.New("three bytes are left over") }),
	}
}

// KeyFaults are those of every stream that are found last of those of form.
func KeyFaults[E any]() []Fault[E] {
	return []Fault[E]{
		Structural[E](settle.ReasonKeyMismatch, "reconciliation_key", "another identity's key").
			InRecord(func(a *Arrival[E]) {
				other := strings.Repeat("0", 64)
				a.SetKey(&a.Envelope, other)
				a.Record.Key = []byte(other)
			}),
		Structural[E](settle.ReasonKeyMismatch, "reconciliation_key", "record without key").
			InRecord(func(a *Arrival[E]) { a.Record.Key = nil }),
		Structural[E](settle.ReasonUnknownRecalculation, settle.HeaderRunKind, "recalculation").
			WithHeader(settle.HeaderRunKind, "recalculation"),
		Structural[E](settle.ReasonUnknownOrigin, settle.HeaderOrigin, "copy of nothing").
			WithHeader(settle.HeaderOrigin, "AAAAAAAAAAAAAAAAAAAAAA/0/1"),
		Structural[E](settle.ReasonUnknownOrigin, settle.HeaderRelease, "release of nothing").
			WithHeader(settle.HeaderRelease, "1"),
	}
}

// Unscaled is a decimal as envelopes have it.
func Unscaled(tb testing.TB, text string) []byte {
	tb.Helper()
	unscaled, err := money.MustParse(text).AppendUnscaled(nil, settle.DecimalScale)
	require.NoError(tb, err)
	return unscaled
}

// BeyondRange is 2^128 or -2^128 unscaled, which no decimal of 38 digits is.
func BeyondRange(negative bool) []byte {
	if negative {
		return append([]byte{0xff}, make([]byte, 16)...)
	}
	return append([]byte{1}, make([]byte, 16)...)
}

// CheckOrder holds a stream against all faults that it finds, in the order in
// which it finds them: each has its reason, of two the upper one is the reason,
// and the same record has the same result each time.
func CheckOrder[E any](t *testing.T, good func() *Arrival[E], faults []Fault[E]) {
	t.Helper()
	for i, upper := range faults {
		t.Run(upper.Name, func(t *testing.T) {
			upper.require(t, spoiled(t, good(), upper))
			for _, lower := range faults[i+1:] {
				t.Run("before "+lower.Name, func(t *testing.T) { upper.require(t, spoiled(t, good(), upper, lower)) })
			}
		})
	}
	t.Run("the same each time", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			var chosen []Fault[E]
			for _, i := range rapid.SliceOfDistinct(rapid.IntRange(0, len(faults)-1), rapid.ID[int]).Draw(rt, "faults") {
				chosen = append(chosen, faults[i])
			}
			a := spoiled(t, good(), chosen...)
			before := fmt.Sprintf("%#v", a.Envelope)
			first, failure := a.Settle()
			second, again := a.Settle()
			require.Equal(rt, first, second)
			require.Equal(rt, failure, again)
			require.Equal(rt, before, fmt.Sprintf("%#v", a.Envelope), "what was decoded isn't touched")
		})
	})
}

// spoiled applies faults from the lowest to the uppermost, so that where two
// spoil the same field the upper one stays.
func spoiled[E any](t *testing.T, a *Arrival[E], faults ...Fault[E]) *Arrival[E] {
	t.Helper()
	for i := len(faults) - 1; i >= 0; i-- {
		if faults[i].envelope != nil {
			faults[i].envelope(&a.Envelope)
		}
	}
	require.NoError(t, a.Seal())
	for i := len(faults) - 1; i >= 0; i-- {
		if faults[i].record != nil {
			faults[i].record(a)
		}
	}
	return a
}

func (f Fault[E]) require(t *testing.T, a *Arrival[E]) {
	t.Helper()
	_, got := a.Settle()
	require.NotNil(t, got)
	require.Equal(t, f.Reason, got.Reason)
	require.Equal(t, f.Class, got.Class)
	require.Equal(t, f.Field, got.Field)
}
