package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/schemas"
)

// ManifestTopic is where each delivery says in the end what it has sent, without
// the installation's prefix. Its records are keyed by the run.
const ManifestTopic = "tieout.manifests"

// A ManifestState says how a delivery ended.
type ManifestState string

// The states of a manifest.
const (
	// ManifestComplete: everything that was to be sent is acknowledged.
	ManifestComplete ManifestState = "complete"
	// ManifestAborted: it ended before. What was acknowledged is counted; more
	// may have arrived.
	ManifestAborted ManifestState = "aborted"
)

// A Manifest is what one delivery says that it has sent.
type Manifest struct {
	settle.Delivery
	State   ManifestState
	Stream  string
	Topic   string // with the installation's prefix
	TopicID settle.TopicID
	// Content names the file by what is in it: the run that it makes by default.
	Content    string
	Sent       int64
	Partitions map[int32]int64 // the same by partition
	Rejected   int64           // lines

	// Quantity is the column that ControlSum adds up; empty where there is no
	// sum, which one of an aborted delivery would be of nobody knows what.
	Quantity   string
	ControlSum money.Sum

	First, Last time.Time // timestamps of the records; zero where there are none
}

// A manifestRecord is a manifest in its schema.
type manifestRecord struct {
	RunID      string  `avro:"run_id"`
	Delivery   string  `avro:"delivery"`
	State      string  `avro:"state"`
	Stream     string  `avro:"stream"`
	Topic      string  `avro:"topic"`
	TopicID    string  `avro:"topic_id"`
	Content    string  `avro:"content"`
	Sent       int64   `avro:"sent"`
	Partitions string  `avro:"partitions"`
	Rejected   int64   `avro:"rejected"`
	Quantity   *string `avro:"quantity"`
	ControlSum *string `avro:"control_sum"`
	FirstAt    *int64  `avro:"first_at"`
	LastAt     *int64  `avro:"last_at"`
}

// record puts the manifest into its schema's form.
func (m *Manifest) record() (*manifestRecord, error) {
	partitions := m.Partitions
	if partitions == nil {
		partitions = map[int32]int64{}
	}
	counts, err := json.Marshal(partitions)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	r := &manifestRecord{
		RunID: m.RunID, Delivery: m.Delivery.Delivery, State: string(m.State),
		Stream: m.Stream, Topic: m.Topic, TopicID: m.TopicID.String(), Content: m.Content,
		Sent: m.Sent, Partitions: string(counts), Rejected: m.Rejected,
		FirstAt: microsOf(m.First), LastAt: microsOf(m.Last),
	}
	if m.Quantity != "" {
		sum := m.ControlSum.String()
		r.Quantity, r.ControlSum = &m.Quantity, &sum
	}
	return r, nil
}

func microsOf(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	micros := t.UnixMicro()
	return &micros
}

// manifest reads the record, which anybody may have written.
func (r *manifestRecord) manifest() (m Manifest, err error) {
	m = Manifest{
		Delivery: settle.Delivery{RunID: r.RunID, Delivery: r.Delivery},
		State:    ManifestState(r.State), Stream: r.Stream, Topic: r.Topic, Content: r.Content,
		Sent: r.Sent, Rejected: r.Rejected, First: timeOf(r.FirstAt), Last: timeOf(r.LastAt),
	}
	if m.TopicID, err = settle.ParseTopicID(r.TopicID); err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(r.Partitions), &m.Partitions); err != nil {
		return m, fmt.Errorf("partitions: %w", err)
	}
	if r.Quantity != nil && r.ControlSum != nil {
		m.Quantity = *r.Quantity
		if m.ControlSum, err = money.ParseSum(*r.ControlSum); err != nil {
			return m, fmt.Errorf("control sum: %w", err)
		}
	}
	return m, m.check()
}

func timeOf(micros *int64) (t time.Time) {
	if micros != nil {
		t = time.UnixMicro(*micros).UTC()
	}
	return t
}

// check says why the manifest contradicts itself, or nil.
func (m *Manifest) check() error {
	left := m.Sent
	for partition, count := range m.Partitions {
		if partition < 0 || count < 0 || count > left {
			return fmt.Errorf("partition %d has %d records of %d sent", partition, count, m.Sent)
		}
		left -= count
	}
	switch {
	case left != 0:
		return fmt.Errorf("%d records of %d sent are on no partition", left, m.Sent)
	case m.State != ManifestComplete && m.State != ManifestAborted:
		return fmt.Errorf("there is no state %q", m.State)
	}
	return nil
}

// A ManifestDecoder reads the values of the manifests' topic.
type ManifestDecoder struct{ decoders *codec.Decoders }

// NewManifestDecoder makes one that finds schemas in the registry.
func NewManifestDecoder(registry *codec.Registry) (*ManifestDecoder, error) {
	reader, err := codec.NewReader(schemas.Manifest, manifestRecord{}, codec.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	return &ManifestDecoder{codec.NewDecoders(registry, reader)}, nil
}

// Decode reads a manifest. The error is a *ManifestError where the value is none,
// or a *codec.RegistryError, which says nothing about it.
func (d *ManifestDecoder) Decode(ctx context.Context, value []byte) (Manifest, error) {
	m, err := d.decode(ctx, value)
	var registry *codec.RegistryError
	if err != nil && !errors.As(err, &registry) && ctx.Err() == nil {
		return m, &ManifestError{err}
	}
	return m, err
}

func (d *ManifestDecoder) decode(ctx context.Context, value []byte) (Manifest, error) {
	id, body, err := codec.SplitWire(value)
	if err != nil {
		return Manifest{}, err
	}
	decoder, err := d.decoders.Resolve(ctx, id)
	if err != nil {
		return Manifest{}, err
	}
	var record manifestRecord
	if err := decoder.Decode(body, &record); err != nil {
		return Manifest{}, err
	}
	return record.manifest()
}
