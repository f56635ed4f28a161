package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func TestFenced_ZombieCommitsNothing(t *testing.T) {
	in := newInstallation(t)
	zombie := in.acquire(in.open(), "claims", 0)
	in.acquire(in.open(), "claims", 0)
	b := zombie.batch(newClaim("A"), failing(settle.Structural(settle.ReasonUndecodable, "", "")))
	err := zombie.ledger.Commit(t.Context(), b)
	var fenced *FencedError
	require.ErrorAs(t, err, &fenced)
	require.False(t, fenced.OwnerNull)
	require.Equal(t, zombie.id, fenced.Source)
	requireNothing(t, in, b)
}

func TestFenced_ARowWithoutOwnerIsToldApart(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	in.exec("UPDATE progress SET owner = NULL")
	b := source.batch(newClaim("A"))
	var fenced *FencedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), b), &fenced)
	require.True(t, fenced.OwnerNull)
	requireNothing(t, in, b)
}

func TestFenced_ARowThatStandsElsewhereIsNotMoved(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	source.commit(newClaim("A"))
	source.next = 0
	var fenced *FencedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), source.batch(newClaim("B"), newClaim("C"))), &fenced)
	require.False(t, fenced.OwnerNull)
	require.EqualValues(t, 1, fenced.NextOffset)
	require.Equal(t, 1, in.count(in.setup.Schema+".sales_ledger"))
}

// requireNothing checks that a batch left nothing, neither in the database nor
// on its entries.
func requireNothing(t *testing.T, in *installation, b *Batch) {
	t.Helper()
	for _, table := range []string{"sales_ledger", "dead_letter", "run_counter", "dead_letter_depth"} {
		require.Zero(t, in.count(in.setup.Schema+"."+table), table)
	}
	for _, e := range b.Entries {
		require.Empty(t, e.Outcome)
	}
}

func TestCommit_TellsPostedDuplicateAndConflictApart(t *testing.T) {
	decimal := money.MustParse
	unclaimed := func(*claim) {}
	tests := []struct {
		name   string
		first  func(*claim)
		second func(*claim)
		want   settle.Reason // empty: a duplicate
		field  string
	}{
		{"the same", unclaimed, unclaimed, "", ""},
		{"1.50 is 1.5", func(c *claim) { c.units = decimal("1.50") }, func(c *claim) { c.units = decimal("1.5") }, "", ""},
		{"claims of equal value", claims("1.340"), claims("1.34"), "", ""},
		{"other parts of the row", unclaimed, func(c *claim) { c.date++ }, "", ""},
		{"vendor", unclaimed, func(c *claim) { c.vendor = "V253" }, settle.ReasonConflictingDuplicate, "vendor_id"},
		{"units", unclaimed, func(c *claim) { c.units = decimal("4") }, settle.ReasonConflictingDuplicate, "qualifying_units"},
		{"rate", unclaimed, func(c *claim) { c.rate = decimal("0.4464") }, settle.ReasonConflictingDuplicate, "tier_rate"},
		{"currency", unclaimed, func(c *claim) { c.currency = "EUR" }, settle.ReasonConflictingDuplicate, "currency"},
		{"claimed", claims("1.34"), claims("1.35"), settle.ReasonConflictingDuplicate, "claimed_amount"},
		{"claimed then nothing", claims("1.34"), unclaimed, settle.ReasonConflictingDuplicate, "claimed_amount"},
		{"nothing then claimed", unclaimed, claims("0"), settle.ReasonConflictingDuplicate, "claimed_amount"},
		{"agreement", unclaimed, func(c *claim) { c.agreement = 9 }, settle.ReasonVersionConflict, "agreement_version"},
		{"agreement before economics", unclaimed, func(c *claim) { c.agreement, c.vendor = 9, "V253" }, settle.ReasonVersionConflict, "agreement_version"},
	}
	in := newInstallation(t)
	l := in.open()
	within, across := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	check := func(t *testing.T, first, second *settle.Entry, want settle.Reason, field string) {
		t.Helper()
		require.Equal(t, first.Posting.Outcome, first.Outcome)
		require.Nil(t, first.Failure)
		if want == "" {
			require.Equal(t, settle.DuplicateSkipped, second.Outcome)
			require.Nil(t, second.Failure)
			return
		}
		require.Equal(t, settle.DeadLetter, second.Outcome)
		require.Equal(t, settle.ClassBusiness, second.Failure.Class)
		require.Equal(t, want, second.Failure.Reason)
		require.Equal(t, field, second.Failure.Field)
	}
	var oneBatch []*settle.Entry
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := fmt.Sprintf("across %d", i)
			first, second := newClaim(name, tt.first), newClaim(name, tt.second)
			across.commit(first)
			across.commit(second)
			check(t, first, second, tt.want, tt.field)
			name = fmt.Sprintf("within %d", i)
			oneBatch = append(oneBatch, newClaim(name, tt.first), newClaim(name, tt.second))
		})
	}
	within.commit(oneBatch...)
	for i, tt := range tests {
		check(t, oneBatch[2*i], oneBatch[2*i+1], tt.want, tt.field)
	}
	require.Equal(t, 2*len(tests), in.count(in.setup.Schema+".sales_ledger"))
}

func TestCommit_APostingThatIsNeitherInsertedNorFoundAbortsTheBatch(t *testing.T) {
	in := newInstallation(t)
	in.exec("CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
	in.exec("CREATE TRIGGER drop_row BEFORE INSERT ON sales_ledger FOR EACH ROW WHEN (NEW.vendor_id = 'LOST') EXECUTE FUNCTION drop_row()")
	source := in.acquire(in.open(), "claims", 0)
	b := source.batch(newClaim("A"), newClaim("B", func(c *claim) { c.vendor = "LOST" }))
	err := source.ledger.Commit(t.Context(), b)
	var unaccounted *UnaccountedError
	require.ErrorAs(t, err, &unaccounted)
	require.Equal(t, UnaccountedError{Table: "sales_ledger", Missed: 1}, *unaccounted)
	var not *NotCommittedError
	require.ErrorAs(t, err, &not)
	requireNothing(t, in, b)
}

func TestCommit_SaysWhatDiffersInWords(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	first, second, third := newClaim("A"), newClaim("A", func(c *claim) { c.units = money.MustParse("4.50") }), newClaim("A", claims("2"))
	source.commit(first, second, third)
	require.Equal(t, `conflicting_duplicate: qualifying_units "4.5": posted is 3`, second.Failure.Message())
	require.Equal(t, `conflicting_duplicate: claimed_amount "2": posted is null`, third.Failure.Message())
}

func TestCommit_OutcomesFollowClaimAndAmount(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	entries := []*settle.Entry{newClaim("A"), newClaim("B", claims("1.340")), newClaim("C", claims("1.35"))}
	source.commit(entries...)
	require.Equal(t, []settle.Outcome{settle.AutoPost, settle.AutoPost, settle.Dispute}, outcomes(entries))
}

// Without the offset in the order, a later record won for most keys.
func TestCommit_TheFirstByOffsetWinsAmongEqualKeys(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	const keys, copies = 1000, 4
	var entries []*settle.Entry
	for i := range keys * copies {
		entries = append(entries, newClaim(fmt.Sprintf("INV-%d", i%keys), func(c *claim) { c.vendor = fmt.Sprintf("V%d", i) }))
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	source.commit(entries...)
	seen := map[string]bool{}
	for _, e := range entries {
		invoice := e.Posting.Row.(*claim).invoice
		if seen[invoice] {
			require.Equal(t, settle.DeadLetter, e.Outcome)
			require.Equal(t, settle.ReasonConflictingDuplicate, e.Failure.Reason)
		} else {
			require.Equal(t, settle.AutoPost, e.Outcome)
		}
		seen[invoice] = true
	}
	require.Equal(t, keys, in.count(in.setup.Schema+".sales_ledger"))
}

// The result is that of taking the records one by one in offset order.
func TestCommit_TheResultDoesNotHangOnTheBatches(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var kinds []func() *settle.Entry
	for range 300 {
		invoice, vendor, agreement := fmt.Sprintf("INV-%d", random.IntN(60)), fmt.Sprintf("V%d", random.IntN(2)), int32(8+random.IntN(4)/3)
		bad := random.IntN(10) == 0
		kinds = append(kinds, func() *settle.Entry {
			if bad {
				return failing(settle.Business(settle.ReasonNegativeUnits, "qualifying_units", "-3"))
			}
			return newClaim(invoice, func(c *claim) { c.vendor, c.agreement = vendor, agreement })
		})
	}
	in := newInstallation(t)
	run := func(topic string, size func() int) []string {
		in.exec("ALTER TABLE sales_ledger DISABLE TRIGGER append_only; TRUNCATE sales_ledger; ALTER TABLE sales_ledger ENABLE ALWAYS TRIGGER append_only")
		source := in.acquire(in.open(), topic, 0)
		var results []string
		for at := 0; at < len(kinds); {
			end := min(at+size(), len(kinds))
			var entries []*settle.Entry
			for _, kind := range kinds[at:end] {
				entries = append(entries, kind())
			}
			source.commit(entries...)
			for _, e := range entries {
				result := string(e.Outcome)
				if e.Failure != nil {
					result += " " + e.Failure.Message()
				}
				results = append(results, result)
			}
			at = end
		}
		return results
	}
	oneByOne := run("one by one", func() int { return 1 })
	require.Equal(t, oneByOne, run("all at once", func() int { return len(kinds) }))
	require.Equal(t, oneByOne, run("by chance", func() int { return 1 + random.IntN(20) }))
}

func TestCommit_ABatchWithoutEntriesMovesTheOffset(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	b := source.batch()
	b.Next = 3 // transaction markers alone
	require.NoError(t, source.ledger.Commit(t.Context(), b))
	next, _ := source.progress()
	require.EqualValues(t, 3, next)
	require.Zero(t, in.count(in.setup.Schema+".run_counter"))
}

func TestCommit_AllRecordsMayBeDeadLetters(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	e := failing(settle.Business(settle.ReasonNegativeUnits, "qualifying_units", "-3"))
	source.commit(e)
	require.Equal(t, settle.DeadLetter, e.Outcome)
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter"))
}

func TestCommit_RefusesWhatIsNoBatch(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	tests := map[string]func(*Batch){
		"backwards":         func(b *Batch) { b.Next, b.From = 0, 1 },
		"offset below":      func(b *Batch) { b.Entries[0].Record.Offset = -1 },
		"offset behind":     func(b *Batch) { b.Entries[1].Record.Offset = b.Next },
		"offsets unordered": func(b *Batch) { b.Entries[0].Record.Offset = 1 },
		"floor ahead":       func(b *Batch) { b.Published = 1 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			b := source.batch(newClaim("A"), newClaim("B"))
			change(b)
			var refused *BatchError
			require.ErrorAs(t, source.ledger.Commit(t.Context(), b), &refused)
		})
	}
	require.Zero(t, in.count(in.setup.Schema+".sales_ledger"))
}

// rowOf is a row that a faulty stream writes.
type rowOf func(settle.RowWriter)

func (r rowOf) WriteColumns(w settle.RowWriter) { r(w) }

func TestCommit_RefusesARowThatDoesNotFitItsTable(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	tests := map[string]settle.Row{
		"none":            nil,
		"too few columns": rowOf(func(w settle.RowWriter) { w.Text("2011-Q1") }),
		"another type":    rowOf(func(w settle.RowWriter) { w.Int32(1) }),
		"too many columns": rowOf(func(w settle.RowWriter) {
			newClaim("A").Posting.Row.WriteColumns(w)
			w.Text("more")
		}),
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			e := newClaim("A")
			e.Posting.Row = row
			var refused *RowError
			require.ErrorAs(t, source.ledger.Commit(t.Context(), source.batch(e)), &refused)
		})
	}
	e := newClaim("A")
	e.Posting.Amount = money.MustParse("1.345")
	var refused *RowError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), source.batch(e)), &refused)
	require.Contains(t, refused.Why, "1.345")
	source.commit(newClaim("A")) // the connection is none the worse
}

func TestCommit_NeedsRules(t *testing.T) {
	in := newInstallation(t)
	l, err := Open(t.Context(), in.options())
	require.NoError(t, err)
	t.Cleanup(l.Close)
	source := in.acquire(l, "claims", 0)
	require.ErrorIs(t, l.Commit(t.Context(), source.batch(newClaim("A"))), ErrNoRules)
}

func TestCommit_AnEndedContextCommitsNothingForCertain(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := source.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, source.ledger.Commit(ctx, b), &not)
	require.ErrorIs(t, not, context.Canceled)
	requireNothing(t, in, b)
	source.commit(newClaim("A"))
}

func TestCommit_WaitsWhereTheDatabaseIsReadOnly(t *testing.T) {
	in := newDatabase(t)
	source := in.acquire(in.open(), "claims", 0)
	conn := in.connect("")
	set := func(value string) {
		_, err := conn.Exec(t.Context(), "ALTER DATABASE "+conn.Config().Database+" SET default_transaction_read_only = "+value)
		require.NoError(t, err)
		source.ledger.pool.Reset()
	}
	set("on")
	var not *NotCommittedError
	require.ErrorAs(t, source.ledger.Commit(t.Context(), source.batch(newClaim("A"))), &not)
	set("off")
	source.commit(newClaim("A"))
}

func TestOpen_EveryConnectionIsBounded(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) {
		o.StatementTimeout, o.LockTimeout, o.IdleInTransactionTimeout = 3*time.Second, 2*time.Second, 1500*time.Millisecond
	})
	for setting, want := range map[string]string{
		"statement_timeout": "3s", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "1500ms",
		"role": in.setup.WorkerRole, "search_path": `"` + in.setup.Schema + `", pg_temp`, "timezone": "UTC",
	} {
		var got string
		require.NoError(t, l.pool.QueryRow(t.Context(), "SHOW "+setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	require.EqualValues(t, 4, l.pool.Config().MaxConns)
}

func TestOpen_NeverLosesACommitToAsynchronousCommit(t *testing.T) {
	in := newDatabase(t)
	conn := in.connect("")
	for _, setting := range []struct{ database, want string }{{"off", "on"}, {"local", "local"}} {
		_, err := conn.Exec(t.Context(), "ALTER DATABASE "+conn.Config().Database+" SET synchronous_commit = '"+setting.database+"'")
		require.NoError(t, err)
		var got string
		require.NoError(t, in.open().pool.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&got))
		require.Equal(t, setting.want, got)
	}
}
