package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// whatIs lists the schemas, tables and roles of a name.
func (in *installation) whatIs(name string) (objects []string) {
	in.t.Helper()
	in.read(`SELECT array(
		SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname ~ '`+name+`'
		UNION ALL SELECT 'role ' || rolname FROM pg_roles WHERE rolname ~ '`+name+`' ORDER BY 1)`, &objects)
	return objects
}

func TestDrop_TakesAnInstallationAwayAndNothingElse(t *testing.T) {
	in := newInstallation(t)
	other := in.setup
	other.Schema, other.OwnerRole, other.WorkerRole = in.setup.Schema+"0", in.setup.Schema+"0_owner", in.setup.Schema+"0_worker"
	_, err := Migrate(t.Context(), other)
	require.NoError(t, err)
	s := in.acquire(in.open(), "topic", 0)
	require.NotZero(t, s.id)

	require.NoError(t, Drop(t.Context(), other))
	require.Equal(t, []string{
		"role " + in.setup.OwnerRole, "role " + in.setup.WorkerRole, "schema " + in.setup.Schema,
	}, in.whatIs(in.setup.Schema))
	require.Equal(t, 1, in.count("progress"))
}

func TestDrop_TakesWhatThereIs(t *testing.T) {
	in := emptyInstallation(t)
	require.NoError(t, Drop(t.Context(), in.setup), "nothing is there")

	conn := in.connect("")
	_, err := conn.Exec(t.Context(), "CREATE ROLE "+in.setup.OwnerRole)
	require.NoError(t, err)
	require.NoError(t, Drop(t.Context(), in.setup), "a set-up that was cut short")
	require.Empty(t, in.whatIs(in.setup.Schema))
}
