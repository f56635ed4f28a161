package devstack

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestTestDatabase_IsOneForEachTest(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first", "second", "third"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, execute(t.Context(), TestDatabase(t), "CREATE TABLE one (id int)"))
		})
	}
}

func TestTestDatabase_IsDroppedThoughAConnectionIsLeftOpen(t *testing.T) {
	t.Parallel()
	var address string
	t.Run("the test", func(t *testing.T) {
		address = TestDatabase(t)
		require.NoError(t, ping(t.Context(), address))
	})
	require.Error(t, ping(t.Context(), address))
}

// A server that goes on running after the tests, as DATABASE_URL names one.
func TestSharedPostgres_LeavesNothingOnAServerThatGoesOn(t *testing.T) {
	server := startPostgres(t, PostgresOptions{}).URL()
	require.NoError(t, execute(t.Context(), server, "CREATE ROLE bystander; CREATE SCHEMA bystander"))
	t.Setenv(databaseVariable, server)
	var shared sharedPostgres
	found, err := shared.url(t.Context())
	require.NoError(t, err)
	require.Equal(t, server, found)
	schema := shared.newName("schema")
	require.NoError(t, execute(t.Context(), server,
		"CREATE ROLE "+schema+"_owner; CREATE ROLE "+schema+"_worker; CREATE SCHEMA "+schema+" AUTHORIZATION "+schema+"_owner;"+
			"CREATE TABLE "+schema+".one (id int); GRANT SELECT ON "+schema+".one TO "+schema+"_worker"))

	require.NoError(t, shared.stop())

	require.Equal(t, "bystander", query(t, server, "SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname !~ '^(pg_|postgres)'"))
	require.Equal(t, "bystander", query(t, server, "SELECT string_agg(nspname, ',') FROM pg_namespace WHERE nspname !~ '^(pg_|public|information_schema)'"))
}

// A role that may not make databases still can run the tests.
func TestTestDatabase_IsTheNamedOneWhereNoneCanBeMade(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, PostgresOptions{}).URL()
	require.NoError(t, execute(t.Context(), server, "CREATE ROLE plain LOGIN PASSWORD 'plain'"))
	address, err := url.Parse(server)
	require.NoError(t, err)
	address.User = url.UserPassword("plain", "plain")
	shared := sharedPostgres{asked: true, address: address.String()}

	database, err := shared.makeDatabase(t.Context())

	require.NoError(t, err)
	require.Equal(t, address.String(), database.address)
	require.NoError(t, database.drop())
}

func TestWithDatabase_KeepsTheRestOfTheAddress(t *testing.T) {
	for server, want := range map[string]string{
		"postgres://u:p@db:5432/postgres?sslmode=require": "postgres://u:p@db:5432/mine?sslmode=require",
		"postgresql://db":             "postgresql://db/mine",
		"host=db user=u dbname=other": "host=db user=u dbname=other dbname=mine",
	} {
		got, err := withDatabase(server, "mine")
		require.NoError(t, err)
		require.Equal(t, want, got)
		parsed, err := pgconn.ParseConfig(got)
		require.NoError(t, err)
		require.Equal(t, "mine", parsed.Database)
	}
}
