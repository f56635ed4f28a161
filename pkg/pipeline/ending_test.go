package pipeline

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The client says (false, nil) where the broker answered a commit with
// UNKNOWN_SERVER_ERROR. Whether it was applied or not, each outcome is
// published once.
func TestEnd_AnswerThatIsNoneIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, applied := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t)
			var spoilt atomic.Int32
			var forwarding atomic.Bool
			in.cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
				in.cluster.KeepControl()
				end := req.(*kmsg.EndTxnRequest)
				if !end.Commit || forwarding.Load() || spoilt.Load() > 0 {
					return nil, nil, false
				}
				spoilt.Add(1)
				if applied {
					copied := *end
					forwarding.Store(true)
					in.cluster.SleepControl(func() { in.forward(&copied) })
					forwarding.Store(false)
				}
				answer := end.ResponseKind().(*kmsg.EndTxnResponse)
				answer.ErrorCode = kerr.UnknownServerError.Code
				return answer, nil, true
			})
			in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1}, claim{invoice: "C", units: "-1"})
			in.drain(func(o *Options) { o.TransactionTimeout = 3 * time.Second })
			assert.EqualValues(t, 1, spoilt.Load())
			assert.ElementsMatch(t, []outcome{
				{"recon.autopost", "0/0", "", "2.50"},
				{"recon.autopost", "1/0", "", "2.50"},
				{"recon.dlq", "0/1", "negative_units", ""},
			}, in.outcomes())
		})
	}
}

// A partition whose revoke never reached a callback is forgotten all the same:
// nothing is committed or published for it.
func TestAssignment_IsComparedWithWhatTheClientHolds(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"})
	w, stop := in.start()
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
	const notOurs = 77
	w.mu.Lock()
	w.partitions[notOurs] = newPartition(notOurs, 5, 0)
	w.mu.Unlock()
	require.Eventually(t, func() bool { return w.partition(notOurs) == nil }, 5*time.Second, 10*time.Millisecond)
	assert.NotNil(t, w.partition(0), "what is ours stays")
	in.produce(claim{invoice: "B"})
	in.eventually("2", `SELECT count(*)::text FROM sales_ledger`)
	require.NoError(t, stop())
	assert.Len(t, in.outcomes(), 2)
}
