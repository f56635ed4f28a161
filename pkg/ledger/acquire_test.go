package ledger

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (in *installation) request(topic string, change ...func(*AcquireRequest)) AcquireRequest {
	r := AcquireRequest{Topic: topic, TopicID: topicID(topic), Owner: newToken(), GroupOffset: -1}
	for _, c := range change {
		c(&r)
	}
	return r
}

func groupOffset(offset int64) func(*AcquireRequest) {
	return func(r *AcquireRequest) { r.GroupOffset = offset }
}

func TestAcquire_CreatesASourceThatNobodyKnows(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	p, err := l.Acquire(t.Context(), in.request("claims"))
	require.NoError(t, err)
	require.Equal(t, StateActive, p.State)
	require.Zero(t, p.NextOffset)
	require.Zero(t, p.PublishedOffset)
	require.EqualValues(t, -1, p.LeaderEpoch)
	require.WithinDuration(t, time.Now(), p.PublishedAt, time.Minute)
	gaps, err := l.Gaps(t.Context(), p.Source)
	require.NoError(t, err)
	require.Empty(t, gaps)
}

func TestAcquire_GivesAGapToALogFirstSeenAboveZero(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	p, err := l.Acquire(t.Context(), in.request("claims", func(r *AcquireRequest) { r.LogStart = 100 }))
	require.NoError(t, err)
	require.Equal(t, StateActive, p.State)
	require.EqualValues(t, 100, p.NextOffset)
	require.EqualValues(t, 100, p.PublishedOffset)
	gaps, err := l.Gaps(t.Context(), p.Source)
	require.NoError(t, err)
	require.Len(t, gaps, 1)
	require.EqualValues(t, 0, gaps[0].From)
	require.EqualValues(t, 100, gaps[0].To)
	require.Equal(t, GapFirstSeen, gaps[0].Reason)
	require.True(t, gaps[0].Contains(99))
	require.False(t, gaps[0].Contains(100))
}

func TestAcquire_HaltsWhereTheGroupKnowsMoreThanAnEmptyLedger(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	for range 2 { // created halted, and found so again
		p, err := l.Acquire(t.Context(), in.request("claims", groupOffset(7)))
		require.NoError(t, err)
		require.Equal(t, StateHalted, p.State)
		require.Equal(t, HaltUnknownProgress, p.Reason)
		require.Contains(t, p.Detail, "offset 7")
	}
	require.Zero(t, in.count(in.setup.Schema+".progress WHERE owner IS NOT NULL"))
}

func TestAcquire_HaltsWhereTheGroupIsAheadOfTheLedger(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	source.commit(newClaim("A"), newClaim("B"))
	p, err := l.Acquire(t.Context(), in.request("claims", groupOffset(3)))
	require.NoError(t, err)
	require.Equal(t, StateHalted, p.State)
	require.Equal(t, HaltLedgerBehind, p.Reason)
	require.EqualValues(t, 2, p.NextOffset)
	_, owned := source.progress()
	require.False(t, owned)
}

func TestAcquire_TakesASourceThatTheGroupHasReachedOrNotYet(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	in.acquire(l, "claims", 0).commit(newClaim("A"), newClaim("B"))
	for _, offset := range []int64{-1, 0, 1, 2} {
		p, err := l.Acquire(t.Context(), in.request("claims", groupOffset(offset)))
		require.NoError(t, err)
		require.Equal(t, StateActive, p.State)
		require.EqualValues(t, 2, p.NextOffset)
	}
}

func TestAcquire_HaltsWhereTheTopicWasCreatedAgain(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	in.acquire(l, "claims", 0)
	again := in.request("claims", func(r *AcquireRequest) { r.TopicID = topicID("other") })
	for range 2 {
		p, err := l.Acquire(t.Context(), again)
		require.NoError(t, err)
		require.Equal(t, StateHalted, p.State)
		require.Equal(t, HaltTopicRecreated, p.Reason)
		require.Contains(t, p.Detail, topicID("claims").String())
	}
	// A partition that only the new topic has was never another's.
	again.Partition = 1
	p, err := l.Acquire(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, StateActive, p.State)
}

func TestAcquire_RefusesAnotherConsumerGroupOfTheTopic(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	other := in.open(func(o *Options) { o.ConsumerGroup = "else" })
	for partition := range int32(2) { // also of a partition that has no row yet
		_, err := other.Acquire(t.Context(), in.request("claims", func(r *AcquireRequest) { r.Partition = partition }))
		var refused *OtherGroupError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, OtherGroupError{Topic: "claims", Group: testGroup, Asked: "else"}, *refused)
	}
	require.Equal(t, 1, in.count(in.setup.Schema+".source"))
	source.commit(newClaim("A")) // nothing was changed
}

func TestAcquire_NeverTakesAHaltedSource(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	require.NoError(t, l.Halt(t.Context(), source.id, source.owner, "log_truncated", "the log ends at 5"))
	p, err := l.Acquire(t.Context(), in.request("claims"))
	require.NoError(t, err)
	require.Equal(t, StateHalted, p.State)
	require.EqualValues(t, "log_truncated", p.Reason)
	require.Equal(t, "the log ends at 5", p.Detail)
	_, owned := source.progress()
	require.False(t, owned)

	// Mended, it's taken again.
	in.exec("UPDATE progress SET state = 'active', reason = NULL, detail = NULL")
	in.acquire(l, "claims", 0)
}

func TestAcquire_TakesTheNewestIncarnation(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	first := in.acquire(l, "claims", 0)
	in.exec("INSERT INTO source (topic_id, topic, partition, incarnation) SELECT topic_id, topic, partition, 1 FROM source")
	in.exec("INSERT INTO progress (source, consumer_group, next_offset, published_offset) SELECT max(source), $1, 40, 40 FROM source", testGroup)
	p, err := l.Acquire(t.Context(), in.request("claims"))
	require.NoError(t, err)
	require.NotEqual(t, first.id, p.Source)
	require.EqualValues(t, 40, p.NextOffset)
}

func TestAcquire_ManyAtOnceCreateOneSource(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.MaxConns = 10 })
	parallel(t, 10, func(ctx context.Context, _ int) error {
		_, err := l.Acquire(ctx, in.request("claims"))
		return err
	})
	require.Equal(t, 1, in.count(in.setup.Schema+".source"))
}

func TestAcquire_WaitsForTheCommitThatItFences(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	conn := in.connect(in.setup.WorkerRole)
	begun, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = begun.Exec(t.Context(), "UPDATE progress SET next_offset = 5 WHERE source = $1 AND owner = $2", source.id, [16]byte(source.owner))
	require.NoError(t, err)

	acquired := make(chan Progress)
	go func() {
		p, err := l.Acquire(t.Context(), in.request("claims"))
		if err != nil {
			t.Error(err)
		}
		acquired <- p
	}()
	select {
	case <-acquired:
		t.Fatal("acquired while the owner's transaction was open")
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, begun.Commit(t.Context()))
	require.EqualValues(t, 5, (<-acquired).NextOffset)
}

func TestHalt_OnlyByTheOwner(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	zombie := in.acquire(l, "claims", 0)
	owner := in.acquire(l, "claims", 0)
	var fenced *FencedError
	require.ErrorAs(t, l.Halt(t.Context(), zombie.id, zombie.owner, "log_truncated", ""), &fenced)
	require.False(t, fenced.OwnerNull)
	require.NoError(t, l.Halt(t.Context(), owner.id, owner.owner, "log_truncated", "why\x00\xff"))
	require.ErrorAs(t, l.Halt(t.Context(), owner.id, owner.owner, "log_truncated", ""), &fenced)
	require.True(t, fenced.OwnerNull)
}

func TestWriteFloor_OnlyRisesAndOnlyForTheOwner(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	zombie := in.acquire(l, "claims", 0)
	source := in.acquire(l, "claims", 0)
	source.commit(newClaim("A"), newClaim("B"), newClaim("C"))
	floor := func(s *testSource, offset int64) (held bool) {
		held, err := l.WriteFloor(t.Context(), s.id, s.owner, offset)
		require.NoError(t, err)
		return held
	}
	require.True(t, floor(source, 2))
	require.True(t, floor(source, 1))
	require.False(t, floor(zombie, 3))
	rows, err := l.ProgressRows(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.EqualValues(t, 2, rows[0].PublishedOffset)

	// With a batch, too.
	b := source.batch(newClaim("D"))
	b.Published, b.LeaderEpoch = 3, 9
	require.NoError(t, l.Commit(t.Context(), b))
	rows, err = l.ProgressRows(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, rows[0].PublishedOffset)
	require.EqualValues(t, 9, rows[0].LeaderEpoch)
	require.EqualValues(t, 4, rows[0].NextOffset)
	source.next = b.Next
	source.commit(newClaim("E")) // without a floor
	rows, err = l.ProgressRows(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, rows[0].PublishedOffset)
}

func TestWriteFloor_NeverPassesWhatIsCommitted(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	_, err := l.WriteFloor(t.Context(), source.id, source.owner, 1)
	require.ErrorContains(t, err, "progress_check")
}

func TestProgressRows_AreTheGroupsOwn(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	in.acquire(l, "claims", 1)
	in.acquire(l, "claims", 0)
	in.acquire(in.open(func(o *Options) { o.ConsumerGroup = "else" }), "others", 0)
	rows, err := l.ProgressRows(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for i, row := range rows {
		require.Equal(t, "claims", row.Topic)
		require.Equal(t, topicID("claims"), row.TopicID)
		require.EqualValues(t, i, row.Partition)
		require.True(t, row.Owned)
		require.Equal(t, StateActive, row.State)
	}
}

func TestRegisterRules_TheSameContentIsTheSameRow(t *testing.T) {
	in := newInstallation(t)
	l, other := in.open(), in.open()
	first := l.rulesID.Load()
	require.Equal(t, first, other.rulesID.Load())
	require.NoError(t, l.RegisterRules(t.Context(), Rules{BinaryVersion: "test", Configuration: map[string]any{"rounding": "half_up"}}))
	second := l.rulesID.Load()
	require.NotEqual(t, first, second)
	require.NoError(t, other.RegisterRules(t.Context(), Rules{BinaryVersion: "test", Configuration: map[string]any{"rounding": "half_up"}}))
	require.Equal(t, second, other.rulesID.Load())
	require.NoError(t, l.RegisterRules(t.Context(), Rules{BinaryVersion: "test"}))
	require.Equal(t, first, l.rulesID.Load())
}
