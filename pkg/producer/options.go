package producer

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/settle"
)

// Options are what a producer is told.
type Options struct {
	// Client are the options of the Kafka client: brokers, TLS, SASL.
	Client []kgo.Opt
	// Registry knows the schema's id.
	Registry *codec.Registry
	// TopicPrefix is put before the topic's name.
	TopicPrefix string
	// DeliveryTimeout is how long a record may wait for its acknowledgement
	// (default: 30 s, which outlasts the election of a partition's leader).
	DeliveryTimeout time.Duration

	// RunID names the logical batch, the same through every retry.
	RunID string
	// Delivery is the ULID of this sending of it (default: a new one).
	Delivery string
	// Tier picks the lane of sales (default: ComputeHeavy); trades have one lane.
	Tier Tier
	// Vendors are those that may claim (default: all); trades have none.
	Vendors Vendors

	// Now and Entropy are what ids are made of (default: the clock and
	// crypto/rand).
	Now     func() time.Time
	Entropy io.Reader
}

const defaultDeliveryTimeout = 30 * time.Second

// maxRunIDBytes leaves room for a line's number behind it in a correlation id.
const maxRunIDBytes = settle.MaxTextBytes - len(":9223372036854775807")

// Validate fills in the defaults and says what is wrong.
func (o *Options) Validate() error {
	if o.DeliveryTimeout == 0 {
		o.DeliveryTimeout = defaultDeliveryTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Entropy == nil {
		o.Entropy = rand.Reader
	}
	if _, err := ParseTier(string(o.Tier)); err != nil && o.Tier != "" {
		return err
	}
	if o.DeliveryTimeout < 0 {
		return fmt.Errorf("the delivery time-out is %s", o.DeliveryTimeout)
	}
	return errors.Join(CheckRunID(o.RunID), o.validateDelivery())
}

// prepare is Validate for a stream's lines.
func (o *Options) prepare(lines Lines) error {
	if err := o.Validate(); err != nil {
		return err
	}
	return lines.prepare(o)
}

// topic is a stream's topic in this installation.
func (o *Options) topic(stream string) (string, error) {
	topic, err := o.Tier.topic(stream)
	return o.TopicPrefix + topic, err
}

// subject is where a stream's schema is registered: the one of the topic's
// values (TopicNameStrategy). The topic of dead letters carries whatever arrived
// and has none; a schema's id is the same under every subject.
func (o *Options) subject(stream string) (string, error) {
	tier := o.Tier
	if tier == DeadLetter {
		tier = ComputeHeavy
	}
	topic, err := tier.topic(stream)
	return o.TopicPrefix + topic + "-value", err
}

// CheckRunID says why text can't name a run.
func CheckRunID(text string) error {
	switch {
	case text == "":
		return errors.New("the run id is empty: a batch needs a name that stays the same when it's sent again")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable):
		return fmt.Errorf("the run id %q has characters that can't be printed", text)
	case len(text) > maxRunIDBytes:
		return fmt.Errorf("the run id is longer than %d bytes", maxRunIDBytes)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func (o *Options) validateDelivery() error {
	if o.Delivery == "" {
		id, err := ulid.New(ulid.Timestamp(o.Now()), o.Entropy)
		if err != nil {
			return fmt.Errorf("make the delivery's id: %w", err)
		}
		o.Delivery = id.String()
	}
	if _, err := ulid.ParseStrict(o.Delivery); err != nil {
		return fmt.Errorf("the delivery %q isn't a ULID: %w", o.Delivery, err)
	}
	return nil
}
