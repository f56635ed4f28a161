package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// refuseVendor makes the ledger refuse a vendor's rows.
func (in *installation) refuseVendor(vendor string) {
	in.exec(fmt.Sprintf("ALTER TABLE sales_ledger ADD CONSTRAINT vendor_barred CHECK (vendor_id <> '%s')", vendor))
}

func poison(c *claim) { c.vendor = "POISON" }

func TestPoison_IsDeadLetteredAloneAndTheRestPosts(t *testing.T) {
	in := newInstallation(t)
	in.refuseVendor("POISON")
	l := in.open()
	source := in.acquire(l, "claims", 0)
	const size = 1000
	var entries []*settle.Entry
	for i := range size {
		e := newClaim(fmt.Sprintf("INV-%d", i))
		if i == 617 {
			e = newClaim(fmt.Sprintf("INV-%d", i), poison)
		}
		entries = append(entries, e)
	}
	before := l.pool.Stat().AcquireCount()
	source.commit(entries...)
	// Ten halvings of 1,000 and a handful more; each takes a connection once.
	require.Less(t, l.pool.Stat().AcquireCount()-before, int64(16))
	for i, e := range entries {
		if i != 617 {
			require.Equal(t, settle.AutoPost, e.Outcome)
			continue
		}
		require.Equal(t, settle.DeadLetter, e.Outcome)
		require.Equal(t, settle.ClassStructural, e.Failure.Class)
		require.Equal(t, settle.ReasonRefusedByLedger, e.Failure.Reason)
		require.Equal(t, "vendor_barred", e.Failure.Field)
		require.Contains(t, e.Failure.Detail, stateOf("23514"))
	}
	require.Equal(t, size-1, in.count(in.setup.Schema+".sales_ledger"))
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter WHERE source_offset = 617 AND reason = 'refused_by_ledger'"))
}

func stateOf(code string) string { return "(SQLSTATE " + code + ")" }

func TestPoison_SeveralAreFoundEach(t *testing.T) {
	in := newInstallation(t)
	in.refuseVendor("POISON")
	source := in.acquire(in.open(), "claims", 0)
	bad := map[int]bool{0: true, 1: true, 30: true, 99: true}
	var entries []*settle.Entry
	for i := range 100 {
		e := newClaim(fmt.Sprintf("INV-%d", i))
		if bad[i] {
			e = newClaim(fmt.Sprintf("INV-%d", i), poison)
		}
		entries = append(entries, e)
	}
	source.commit(entries...)
	for i, e := range entries {
		require.Equal(t, bad[i], e.Outcome == settle.DeadLetter, i)
	}
}

// A text that isn't UTF-8 is refused by COPY, before any insert.
func TestPoison_IsAlsoFoundInTheCopy(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.open(), "claims", 0)
	entries := []*settle.Entry{newClaim("A"), newClaim("B", func(c *claim) { c.vendor = "\xff" }), newClaim("C", func(c *claim) { c.date = -1 << 63 })}
	source.commit(entries...)
	require.Equal(t, []settle.Outcome{settle.AutoPost, settle.DeadLetter, settle.DeadLetter}, outcomes(entries))
	require.Contains(t, entries[1].Failure.Detail, stateOf("22021"))
	require.Contains(t, entries[2].Failure.Detail, stateOf("22008"))
}

// A unique index that an owner adds convicts the later one; the primary key
// never convicts.
func TestPoison_AForeignKeyOfTheLedgersConvictsTheLaterRecord(t *testing.T) {
	in := newInstallation(t)
	in.exec("CREATE UNIQUE INDEX one_a_vendor ON sales_ledger (vendor_id)")
	source := in.acquire(in.open(), "claims", 0)
	first, second := newClaim("A"), newClaim("B")
	if string(first.Posting.Key[:]) > string(second.Posting.Key[:]) {
		first, second = second, first
	}
	source.commit(first, second)
	require.Equal(t, settle.AutoPost, first.Outcome)
	require.Equal(t, settle.DeadLetter, second.Outcome)
	require.Contains(t, second.Failure.Detail, stateOf("23505"))
}

func TestPoison_WhereAllAreRefusedTheLedgerIsAtFault(t *testing.T) {
	in := newInstallation(t)
	in.refuseVendor("V252")
	l := in.open()
	source := in.acquire(l, "claims", 0)
	for _, size := range []int{1, 3, 500} {
		var entries []*settle.Entry
		for i := range size {
			entries = append(entries, newClaim(fmt.Sprintf("INV-%d", i)))
		}
		b := source.batch(append(entries, failing(settle.Structural(settle.ReasonUndecodable, "", "")))...)
		var refused *RefusedBatchError
		require.ErrorAs(t, l.Commit(t.Context(), b), &refused)
		require.Equal(t, size, refused.Postings)
		requireNothing(t, in, b)
		for _, e := range entries {
			require.Nil(t, e.Failure)
		}
	}
}

// A time-out or a full disk in the middle of the search is nobody's fault.
func TestPoison_AnOutageInTheMiddleConvictsNobody(t *testing.T) {
	for _, state := range []string{"57014", "53100"} {
		t.Run(state, func(t *testing.T) {
			in := newInstallation(t)
			in.refuseVendor("POISON")
			// The search tries fewer and fewer rows: this fails in its midst.
			in.exec("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN" +
				" IF NEW.vendor_id = 'V252' AND (SELECT count(*) FROM pg_temp.stage) = 2 THEN RAISE EXCEPTION 'outage' USING ERRCODE = '" + state + "'; END IF;" +
				" RETURN NEW; END $$")
			in.exec("CREATE TRIGGER fail BEFORE INSERT ON sales_ledger FOR EACH ROW EXECUTE FUNCTION fail()")
			l := in.open()
			source := in.acquire(l, "claims", 0)
			entries := byKey(newClaim("A"), newClaim("B"), newClaim("C"), newClaim("D"))
			entries[1].Posting.Row.(*claim).vendor = "POISON"
			b := source.batch(entries...)
			var not *NotCommittedError
			require.ErrorAs(t, l.Commit(t.Context(), b), &not)
			require.True(t, hasState(not, state))
			requireNothing(t, in, b)

			in.exec("DROP TRIGGER fail ON sales_ledger")
			source.commit(entries...)
			require.Equal(t, []settle.Outcome{settle.AutoPost, settle.DeadLetter, settle.AutoPost, settle.AutoPost}, outcomes(entries))
		})
	}
}

func TestPoison_AFaultThatPassesConvictsNobody(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	source := in.acquire(l, "claims", 0)
	// A sequence isn't rolled back: only the first insert fails.
	in.exec("CREATE SEQUENCE once; GRANT USAGE ON SEQUENCE once TO " + in.setup.WorkerRole)
	in.exec("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN" +
		" IF nextval('once') = 1 THEN RAISE EXCEPTION 'once' USING ERRCODE = '22012'; END IF; RETURN NEW; END $$")
	in.exec("CREATE TRIGGER fail BEFORE INSERT ON sales_ledger FOR EACH ROW EXECUTE FUNCTION fail()")
	b := source.batch(newClaim("A"), newClaim("B"))
	var not *NotCommittedError
	require.ErrorAs(t, l.Commit(t.Context(), b), &not)
	requireNothing(t, in, b)
	source.commit(b.Entries...)
	require.Equal(t, []settle.Outcome{settle.AutoPost, settle.AutoPost}, outcomes(b.Entries))
}

// Another's dead letter at our coordinates can only be a worker's that has
// taken the source: the fence is looked at, nobody is convicted.
func TestPoison_AKeyOfTieoutsOwnConvictsNobody(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	zombie := in.acquire(l, "claims", 0)
	successor := in.acquire(l, "claims", 0)
	bad := func() *settle.Entry { return failing(settle.Structural(settle.ReasonUndecodable, "", "")) }
	successor.commit(bad())
	var fenced *FencedError
	require.ErrorAs(t, l.Commit(t.Context(), zombie.batch(bad())), &fenced)
	require.Equal(t, 1, in.count(in.setup.Schema+".dead_letter"))
}

// byKey orders entries as the ledger does.
func byKey(entries ...*settle.Entry) []*settle.Entry {
	slices.SortFunc(entries, func(a, b *settle.Entry) int { return bytes.Compare(a.Posting.Key[:], b.Posting.Key[:]) })
	return entries
}

func TestPoison_OnlyDataAndConstraintsAreARecordsFault(t *testing.T) {
	for _, tt := range []struct {
		code, table, constraint string
		want                    bool
	}{
		{"22003", "", "", true},
		{"22021", "", "", true},
		{"23514", "sales_ledger", "vendor_barred", true},
		{"23502", "sales_ledger", "", true},
		{"23505", "sales_ledger", "one_a_vendor", true},
		{"23505", "sales_ledger", "sales_ledger_pkey", false},
		{"23505", "dead_letter", "dead_letter_pkey", false},
		{stateInvalidBinary, "", "", false},
		{stateBadCopyFormat, "", "", false},
		{stateLockNotAvailable, "", "", false},
		{"57014", "", "", false},
		{"53100", "", "", false},
		{"42703", "", "", false},
	} {
		pg := &pgconn.PgError{Code: tt.code, TableName: tt.table, ConstraintName: tt.constraint}
		require.Equal(t, tt.want, isRecordsFault(pg, "sales_ledger"), "%+v", tt)
	}
}

// Binary that Postgres can't read is this package's fault, or a fence's.
func TestPoison_UnreadableBinaryConvictsNobody(t *testing.T) {
	in := newInstallation(t)
	in.exec("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '22P03'; END $$")
	in.exec("CREATE TRIGGER fail BEFORE INSERT ON sales_ledger FOR EACH ROW EXECUTE FUNCTION fail()")
	l := in.open()
	zombie, owner := in.acquire(l, "claims", 0), in.acquire(l, "claims", 0)
	var fenced *FencedError
	require.ErrorAs(t, l.Commit(t.Context(), zombie.batch(newClaim("A"))), &fenced)
	b := owner.batch(newClaim("A"))
	var not *NotCommittedError
	require.ErrorAs(t, l.Commit(t.Context(), b), &not)
	requireNothing(t, in, b)
}
