package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// What the worker may do, and with that what it may not: everything else.
func TestRoles_TheWorkerMayDoThisAndNoMore(t *testing.T) {
	want := map[string][]string{
		"dead_letter":       {"INSERT", "SELECT"},
		"dead_letter_depth": {"INSERT", "SELECT", "UPDATE(depth)"},
		"gap":               {"INSERT", "SELECT"},
		"progress":          {"INSERT", "SELECT", "UPDATE(detail)", "UPDATE(leader_epoch)", "UPDATE(next_offset)", "UPDATE(owner)", "UPDATE(published_at)", "UPDATE(published_offset)", "UPDATE(reason)", "UPDATE(state)"},
		"rules":             {"INSERT", "SELECT"},
		"run_counter": {"INSERT", "SELECT", "UPDATE(applied)", "UPDATE(applied_quantity)", "UPDATE(dead_lettered)", "UPDATE(dead_lettered_quantity)", "UPDATE(disputed)",
			"UPDATE(first_at)", "UPDATE(last_at)", "UPDATE(skipped)", "UPDATE(skipped_quantity)", "UPDATE(unmeasured)"},
		"schema_version": {"SELECT"},
		"source":         {"INSERT", "SELECT"},
	}
	in := newInstallation(t)
	conn := in.connect("")
	rows, err := conn.Query(t.Context(), `
SELECT c.relname, c.relkind = 'v', coalesce(array_agg(right_of ORDER BY right_of) FILTER (WHERE right_of IS NOT NULL), '{}')
FROM pg_class c LEFT JOIN LATERAL (
	SELECT a.privilege_type FROM aclexplode(c.relacl) a WHERE a.grantee IN (0, $2::regrole)
	UNION ALL SELECT a.privilege_type || '(' || attname || ')' FROM pg_attribute, aclexplode(attacl) a WHERE attrelid = c.oid AND a.grantee IN (0, $2::regrole)
) granted (right_of) ON true
WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'v') GROUP BY c.relname, c.relkind`, in.setup.Schema, in.setup.WorkerRole)
	require.NoError(t, err)
	got := map[string][]string{}
	for rows.Next() {
		var table string
		var isView bool
		var rights []string
		require.NoError(t, rows.Scan(&table, &isView, &rights))
		got[table] = rights
		switch { // the ledgers of streams, and their views
		case want[table] != nil:
		case isView:
			want[table] = []string{"SELECT"}
		default:
			want[table] = []string{"INSERT", "SELECT"}
		}
	}
	require.NoError(t, rows.Err())
	require.Equal(t, want, got)

	var create bool
	in.read(fmt.Sprintf("SELECT has_schema_privilege('%s', '%s', 'CREATE')", in.setup.WorkerRole, in.setup.Schema), &create)
	require.False(t, create)
}

// forbidden are acts that change what is recorded, or get around what forbids
// it.
var forbidden = []string{
	"UPDATE %s SET %s = %[2]s",
	"DELETE FROM %s",
	"TRUNCATE %s",
	"ALTER TABLE %s DISABLE TRIGGER ALL",
	"ALTER TABLE %s DISABLE TRIGGER append_only",
	"DROP TRIGGER append_only ON %s",
	"DROP TABLE %s CASCADE",
	"ALTER TABLE %s ADD COLUMN more int",
	"CREATE INDEX ON %s (%s)",
	"DO $$ BEGIN LOCK TABLE %s IN ACCESS EXCLUSIVE MODE; END $$",
}

func TestRoles_EveryForbiddenActOfTheWorkerIsRefused(t *testing.T) {
	in := newInstallation(t)
	in.acquire(in.open(), "claims", 0).commit(newClaim("A"), failing(settle.Structural(settle.ReasonUndecodable, "", "")))
	conn := in.connect(in.setup.WorkerRole)
	for table, column := range map[string]string{
		"sales_ledger": "amount", "dead_letter": "reason", "rules": "binary_version", "gap": "reason", "source": "topic", "schema_version": "version",
	} {
		for _, act := range forbidden {
			sql := fmt.Sprintf(act, table, column)
			if !strings.Contains(act, "%[2]s") && !strings.Contains(act, "(%s)") {
				sql = fmt.Sprintf(act, table)
			}
			_, err := conn.Exec(t.Context(), sql)
			require.Error(t, err, sql)
			const noSuchTrigger = "42704"
			require.True(t, hasState(err, stateInsufficientRight, noSuchTrigger), "%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"UPDATE progress SET source = source",
		"UPDATE progress SET consumer_group = 'other'",
		"DELETE FROM progress",
		"UPDATE run_counter SET run_id = 'other'",
		"DELETE FROM run_counter",
		"INSERT INTO schema_version VALUES (9)",
		"INSERT INTO sales_ledger SELECT * FROM sales_ledger ON CONFLICT (claim_period, reconciliation_key, revision) DO UPDATE SET amount = 0",
		"CREATE TABLE mine (x int)",
		"CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
		"DROP SCHEMA " + in.setup.Schema + " CASCADE",
		"SET session_replication_role = replica",
		"ALTER TABLE sales_ledger OWNER TO " + in.setup.WorkerRole,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.Error(t, err, sql)
	}
	require.Equal(t, 1, in.count(in.setup.Schema+".sales_ledger WHERE amount = 1.34"))
}

// Grants don't bind the owner and superusers; the trigger does.
func TestAppendOnly_TheTriggerRefusesWhomGrantsDoNotBind(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	_, err := l.Acquire(t.Context(), in.request("claims", func(r *AcquireRequest) { r.LogStart = 1 }))
	require.NoError(t, err)
	in.acquire(l, "claims", 0).commit(newClaim("A"))
	for _, role := range []string{in.setup.OwnerRole, ""} {
		conn := in.connect(role)
		for table, column := range map[string]string{"sales_ledger": "amount", "rules": "binary_version", "gap": "reason"} {
			for _, act := range []string{"UPDATE %s SET %s = %[2]s", "DELETE FROM %s", "TRUNCATE %s"} {
				sql := fmt.Sprintf(act, table, column)
				if !strings.Contains(act, "%[2]s") {
					sql = fmt.Sprintf(act, table)
				}
				_, err := conn.Exec(t.Context(), sql+map[bool]string{true: " CASCADE"}[strings.HasPrefix(sql, "TRUNCATE")])
				require.ErrorContains(t, err, table+" is append-only", sql)
			}
		}
	}
	conn := in.connect("")
	_, err = conn.Exec(t.Context(), "SET session_replication_role = replica")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "DELETE FROM sales_ledger")
	require.ErrorContains(t, err, "sales_ledger is append-only")
}

func TestAppendOnly_EveryLedgerHasTheTrigger(t *testing.T) {
	in := newInstallation(t)
	conn := in.connect("")
	rows, err := conn.Query(t.Context(), `
SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace
	AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'posted_at')`, in.setup.Schema)
	require.NoError(t, err)
	var ledgers []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		ledgers = append(ledgers, name)
	}
	require.NoError(t, rows.Err())
	require.True(t, slices.Contains(ledgers, "sales_ledger"))
	for _, ledger := range ledgers {
		// A (always), on UPDATE, DELETE and TRUNCATE, before each statement.
		require.Equal(t, 1, in.count(fmt.Sprintf("pg_trigger WHERE tgrelid = '%s.%s'::regclass AND tgenabled = 'A' AND tgtype = 2 + 8 + 16 + 32", in.setup.Schema, ledger)), ledger)
	}
}
