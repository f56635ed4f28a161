package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestContiguity_ARecordLeftOutByTheClientIsNotBelieved(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.transaction(kgo.TryCommit, claim{invoice: "A"}, claim{invoice: "B"}) // 0, 1, marker 2
	in.transaction(kgo.TryCommit, claim{invoice: "C"}, claim{invoice: "D"}) // 3, 4, marker 5
	w, err := New(in.options())
	require.NoError(t, err)
	defer w.Close()
	records := in.read(in.lane.Topic)
	require.Len(t, records, 4)
	for name, test := range map[string]struct {
		expected int64
		records  []*kgo.Record
		want     bool
	}{
		"all of them, with the log's own gap": {0, records, true},
		"from behind the marker":              {2, records[2:], true},
		"the first left out":                  {0, records[1:], false},
		"one in the middle left out":          {0, slices.Concat(records[:1], records[2:]), false},
		"the one behind the marker left out":  {2, records[3:], false},
	} {
		whole, err := w.contiguous(t.Context(), &partition{id: 0, expected: test.expected}, test.records)
		require.NoError(t, err, name)
		assert.Equal(t, test.want, whole, name)
	}
}

func TestContiguity_APartitionGoesBackToTheRecordThatWasLeftOut(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B"}, claim{invoice: "C"})
	w, err := New(in.options())
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.open(t.Context()))
	defer w.session.close()
	for w.partition(0) == nil || w.partition(0).stage != stageOwned {
		w.poll(t.Context())
		w.compareAssignment(t.Context())
		require.NoError(t, w.acquire(t.Context()))
		w.session.kafka.AllowRebalance()
	}
	records := in.read(in.lane.Topic)
	p := w.partition(0)
	w.takeRecords(t.Context(), p.topicID, kgo.FetchPartition{Partition: 0, Records: records[1:]})
	assert.Nil(t, p.batch, "what has a hole is not taken")
	assert.Zero(t, p.expected)
	w.takeRecords(t.Context(), p.topicID, kgo.FetchPartition{Partition: 0, Records: records})
	require.NotNil(t, p.batch)
	assert.Equal(t, int64(3), p.batch.next)
}
