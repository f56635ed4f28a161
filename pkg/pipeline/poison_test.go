package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Poison never stops the healthy: neither many records that the ledger refuses,
// nor one that arrives alone, nor ids of schemas that nobody knows.

func (in *installation) refusing(condition string) {
	in.t.Helper()
	in.asSuperuser("ALTER TABLE sales_ledger ADD CONSTRAINT refused CHECK (NOT (" + condition + ")) NOT VALID")
}

func TestPoison_ManyRefusedRecordsAreDeadLettersAndTheRestPosts(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.refusing(`retailer_invoice LIKE '%7'`)
	var claims []claim
	for n := range 600 {
		claims = append(claims, claim{invoice: invoice(n), partition: int32(n % testPartitions)})
	}
	in.produceAll(claims)
	in.drain()
	assert.Equal(t, "540", in.sql(`SELECT count(*)::text FROM sales_ledger`))
	assert.Equal(t, "60 60", in.sql(`SELECT count(*) || ' ' || count(*) FILTER (WHERE reason = 'refused_by_ledger') FROM dead_letter`))
	assert.Len(t, in.outcomes(), 600)
}

func TestPoison_ALoneRecordWaitsForAnotherThatTellsWhoIsAtFault(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.refusing(`retailer_invoice = 'BAD'`)
	_, stop := in.start()
	in.produce(claim{invoice: "BAD"})
	time.Sleep(time.Second)
	assert.Equal(t, "0", in.sql(`SELECT count(*)::text FROM dead_letter`), "a ledger that takes nothing convicts nobody")
	in.produce(claim{invoice: "GOOD"})
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
	in.eventually("1", `SELECT count(*)::text FROM dead_letter`)
	require.NoError(t, stop())
	assert.Len(t, in.outcomes(), 2)
}

func TestPoison_ALedgerThatRefusesEverythingPausesAndResumes(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.refusing(`true`)
	w, stop := in.start()
	for n := range 20 {
		in.produce(claim{invoice: invoice(n)})
	}
	in.eventuallyReady(w, false)
	assert.Equal(t, "0", in.sql(`SELECT count(*)::text FROM dead_letter`))
	in.asSuperuser(`ALTER TABLE sales_ledger DROP CONSTRAINT refused`)
	in.eventually("20", `SELECT count(*)::text FROM sales_ledger`)
	require.NoError(t, stop())
	assert.Len(t, in.outcomes(), 20)
}

func TestPoison_ADrainThatTheLedgerRefusesEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.refusing(`true`)
	in.produce(claim{invoice: "A"})
	err := in.tryDrain()
	require.ErrorIs(t, err, ErrNotDrained)
	assert.Contains(t, err.Error(), "refused")
}

func TestSchema_ManyUnknownIDsAreWaitedForOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	for id := range 12 {
		unknown := in.record(claim{invoice: fmt.Sprint(id)})
		unknown.Value[4] = byte(100 + id)
		in.send(unknown)
	}
	in.produce(claim{invoice: "healthy"})
	started := time.Now()
	const wait = time.Second
	in.drain(func(o *Options) { o.UnknownSchemaWait = wait })
	assert.Less(t, time.Since(started), 8*wait)
	assert.Equal(t, "12", in.sql(`SELECT count(*)::text FROM dead_letter WHERE reason = 'unknown_schema'`))
	assert.Equal(t, "1", in.sql(`SELECT count(*)::text FROM sales_ledger`))
}

func TestFloor_AForgedDeadLetterHeaderIsNotBelieved(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.produce(claim{invoice: "A"}, claim{invoice: "B"})
	in.drain()
	in.forgeSource("recon.dlq", 0, 9_000_000)
	in.forgetGroup()
	in.asSuperuser(`UPDATE progress SET published_offset = 0`)
	in.produce(claim{invoice: "C"})
	in.drain()
	assert.Equal(t, "3", in.sql(`SELECT count(*)::text FROM sales_ledger`))
}

// produceAll enqueues claims without waiting for each.
func (in *installation) produceAll(claims []claim) {
	in.t.Helper()
	records := make([]*kgo.Record, len(claims))
	for i, c := range claims {
		records[i] = in.record(c)
	}
	require.NoError(in.t, in.client.ProduceSync(in.t.Context(), records...).FirstErr())
}
