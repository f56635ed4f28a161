package settle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
)

// A note is the smallest record there is: its text is its identity, and 2 x 1.005
// what it comes to.
type note struct{ key, correlationID, text string }

func (n *note) Stated() (key, correlationID string) { return n.key, n.correlationID }
func (n *note) Quantity() []byte                    { return []byte{2} }
func (n *note) CheckForm() (reconkey.Key, *Failure) {
	return reconkey.Identity{reconkey.Text("text", n.text)}.Key(), nil
}
func (n *note) Decode(_ []byte, into any) error { *into.(*noteDraft).note = *n; return nil }

type noteDraft struct {
	*note
	beyond, content *Failure
}

func (d *noteDraft) Envelope() Envelope                      { return d }
func (d *noteDraft) ReadFigures() (beyond, failure *Failure) { return d.beyond, nil }
func (d *noteDraft) Posting(reconkey.Key) Posting {
	return Posting{Version: 7, Quantity: money.NullDecimal{Decimal: money.MustParse("2"), Valid: true}, Currency: "USD"}
}
func (d *noteDraft) CheckContent() *Failure { return d.content }
func (d *noteDraft) Amount() (money.Decimal, money.NullDecimal, *Failure) {
	amount, failure := Product(money.MustParse("2"), money.MustParse("1.005"), money.HalfUp)
	return amount, money.NullDecimal{}, failure
}

func settleNote(record *Record, n note) (Posting, *Failure) {
	return Settle(record, nil, &n, &noteDraft{note: new(note)})
}

func goodNote() (*Record, note) {
	n := note{correlationID: "C-1", text: "hello"}
	key, _ := n.CheckForm()
	n.key = key.Hex()
	return &Record{Key: []byte(n.key)}, n
}

func TestSettle_GoodRecordIsAPosting(t *testing.T) {
	record, n := goodNote()
	posting, failure := settleNote(record, n)
	require.Nil(t, failure)
	require.Equal(t, n.key, posting.Key.Hex())
	require.Equal(t, Posting{
		Key: posting.Key, Version: 7, Currency: "USD", CorrelationID: "C-1", Outcome: AutoPost, Amount: money.MustParse("2.01"),
		Quantity: money.NullDecimal{Decimal: money.MustParse("2"), Valid: true},
	}, posting)
}

func TestSettle_AFailureHasTheQuantityThatWasReadAndNoOther(t *testing.T) {
	record, n := goodNote()
	of := func(draft *noteDraft) money.NullDecimal {
		draft.note = new(note)
		posting, failure := Settle(record, nil, &n, draft)
		require.NotNil(t, failure)
		return posting.Quantity
	}
	require.Equal(t, "2", of(&noteDraft{content: Business(ReasonNegativeRate, "", "")}).Decimal.String())
	require.False(t, of(&noteDraft{beyond: Business(ReasonOutOfRange, "", "")}).Valid, "the limit of the range isn't what it says")
	record.Key = nil
	require.False(t, of(&noteDraft{}).Valid, "form comes first")
}

func TestSettle_RecordKeyIsComparedByItsBytes(t *testing.T) {
	_, n := goodNote()
	for _, key := range [][]byte{nil, {}, []byte("other"), []byte(strings.ToUpper(n.key)), make([]byte, 32)} {
		posting, failure := settleNote(&Record{Key: key}, n)
		require.NotNil(t, failure)
		require.Equal(t, ReasonKeyMismatch, failure.Reason)
		require.Equal(t, Posting{CorrelationID: "C-1"}, posting)
	}
}

func TestSettle_HeadersOfTieoutsOwnAreRefusedWhateverTheySay(t *testing.T) {
	for _, value := range []string{"", "original", "recalculation"} {
		record, n := goodNote()
		record.Headers = []Header{{Key: HeaderRunKind, Value: []byte(value)}}
		_, failure := settleNote(record, n)
		require.NotNil(t, failure)
		require.Equal(t, ReasonUnknownRecalculation, failure.Reason)
	}
	record, n := goodNote()
	for _, header := range []string{HeaderRunID, HeaderDelivery, HeaderCorrelationID, HeaderTraceparent, "theirs"} {
		record.Headers = append(record.Headers, Header{Key: header, Value: []byte("1")})
	}
	_, failure := settleNote(record, n)
	require.Nil(t, failure)
}
