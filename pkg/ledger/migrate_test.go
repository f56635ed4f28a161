package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/schemas"
)

func TestMigrate_MakesRolesSchemaAndTablesOnce(t *testing.T) {
	in := emptyInstallation(t)
	planned := in.setup
	planned.DryRun = true
	want, err := Migrate(t.Context(), planned)
	require.NoError(t, err)
	require.Equal(t, append([]string{
		"create role " + in.setup.OwnerRole, "create role " + in.setup.WorkerRole, "create schema " + in.setup.Schema,
	}, migrations(t)...), lines(want))
	require.Contains(t, lines(want), "apply migration 002_sales.sql")

	done, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Equal(t, want, done)

	again, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Empty(t, again)
	again, err = Migrate(t.Context(), planned)
	require.NoError(t, err)
	require.Empty(t, again)

	have, current, err := CurrentVersion(t.Context(), in.setup)
	require.NoError(t, err)
	require.Len(t, migrations(t), int(have))
	require.Equal(t, current, have)
}

func TestMigrate_DryRunChangesNothing(t *testing.T) {
	in := emptyInstallation(t)
	in.setup.DryRun = true
	_, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Zero(t, in.count("pg_roles WHERE starts_with(rolname, '"+in.setup.Schema+"')"))
	require.Zero(t, in.count("pg_namespace WHERE nspname = '"+in.setup.Schema+"'"))
	have, _, err := CurrentVersion(t.Context(), in.setup)
	require.NoError(t, err)
	require.Zero(t, have)
}

func TestMigrate_TenAtOnceDoItOnce(t *testing.T) {
	in := emptyInstallation(t)
	var mu sync.Mutex
	var applied []Step
	parallel(t, 10, func(ctx context.Context, _ int) error {
		steps, err := Migrate(ctx, in.setup)
		mu.Lock()
		defer mu.Unlock()
		applied = append(applied, steps...)
		return err
	})
	require.Len(t, applied, 3+len(migrations(t)))
}

// Roles are shared by the databases of a server, the advisory lock is not.
func TestMigrate_DatabasesOfOneServerDoNotMeetOverRoles(t *testing.T) {
	first := emptyDatabase(t)
	installations := []*installation{first}
	for range 4 {
		other := emptyDatabase(t)
		other.setup.Schema, other.setup.OwnerRole, other.setup.WorkerRole = first.setup.Schema, first.setup.OwnerRole, first.setup.WorkerRole
		installations = append(installations, other)
	}
	parallel(t, len(installations), func(ctx context.Context, i int) error {
		_, err := Migrate(ctx, installations[i].setup)
		return err
	})
}

func TestMigrate_OwnerOwnsEverything(t *testing.T) {
	in := newInstallation(t)
	require.Zero(t, in.count(fmt.Sprintf("pg_class WHERE relnamespace = '%s'::regnamespace AND relowner <> '%s'::regrole",
		in.setup.Schema, in.setup.OwnerRole)))
	require.Zero(t, in.count(fmt.Sprintf("pg_proc WHERE pronamespace = '%s'::regnamespace AND proowner <> '%s'::regrole",
		in.setup.Schema, in.setup.OwnerRole)))
	require.Equal(t, 2, in.count("pg_roles WHERE NOT rolcanlogin AND NOT rolsuper AND starts_with(rolname, '"+in.setup.Schema+"')"))
}

func TestMigrate_ALoginThatIsNoSuperuserBecomesAMember(t *testing.T) {
	in := emptyDatabase(t)
	login := in.loginWithoutPrivileges("CREATEROLE")
	in.setup.URL = login
	planned := in.setup
	planned.DryRun = true
	want, err := Migrate(t.Context(), planned)
	require.NoError(t, err)
	require.Contains(t, lines(want), "grant role "+in.setup.OwnerRole+" to "+in.setup.Schema+"_login")
	done, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Equal(t, want, done)
	again, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Empty(t, again)
	source := in.acquire(in.open(), "claims", 0)
	source.commit(newClaim("A"))
}

func TestMigrate_RefusesASchemaThatIsAnothers(t *testing.T) {
	in := emptyDatabase(t)
	conn := in.connect("")
	_, err := conn.Exec(t.Context(), "CREATE SCHEMA "+in.setup.Schema)
	require.NoError(t, err)
	_, err = Migrate(t.Context(), in.setup)
	var option *OptionError
	require.ErrorAs(t, err, &option)
	require.Equal(t, "Schema", option.Option)
}

func TestMigrate_TwoInstallationsShareADatabase(t *testing.T) {
	first := newInstallation(t)
	second := emptyInstallation(t)
	second.setup.URL = first.setup.URL
	_, err := Migrate(t.Context(), second.setup)
	require.NoError(t, err)
	first.acquire(first.open(), "claims", 0).commit(newClaim("A"))
	second.acquire(second.open(), "claims", 0).commit(newClaim("A"))
	require.Equal(t, 1, first.count(first.setup.Schema+".sales_ledger"))
	require.Equal(t, 1, first.count(second.setup.Schema+".sales_ledger"))
}

func TestMigrate_TheSchemaMayBeAReservedWord(t *testing.T) {
	in := emptyDatabase(t)
	in.setup.Schema = "order"
	_, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	in.acquire(in.open(), "claims", 0).commit(newClaim("A"))
}

func TestMigrate_GrantsTemporaryTablesWhereTheyWereTakenAway(t *testing.T) {
	in := emptyDatabase(t)
	conn := in.connect("")
	_, err := conn.Exec(t.Context(), "REVOKE TEMPORARY ON DATABASE "+conn.Config().Database+" FROM PUBLIC")
	require.NoError(t, err)
	steps, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Contains(t, lines(steps), "grant temporary tables to "+in.setup.WorkerRole)
	in.acquire(in.open(), "claims", 0).commit(newClaim("A"))
}

func TestOpen_RefusesASchemaOfAnotherVersion(t *testing.T) {
	in := newInstallation(t)
	in.open()
	in.exec("UPDATE schema_version SET version = version - 1")
	_, err := Open(t.Context(), in.options())
	require.ErrorIs(t, err, ErrSchemaOutdated)
	in.exec("UPDATE schema_version SET version = version + 2")
	_, err = Open(t.Context(), in.options())
	require.ErrorIs(t, err, ErrSchemaNewer)
	_, err = Migrate(t.Context(), in.setup)
	require.ErrorIs(t, err, ErrSchemaNewer)
	in.setup.DryRun = true
	_, err = Migrate(t.Context(), in.setup)
	require.ErrorIs(t, err, ErrSchemaNewer)
}

func TestOpen_SaysInOneLineWhatIsWrong(t *testing.T) {
	in := newInstallation(t)
	empty := emptyInstallation(t)
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"nothing set up": {func(o *Options) { *o = empty.options() }, `role "` + empty.setup.WorkerRole + `" doesn't exist: run: tieout setup`},
		"another schema": {func(o *Options) { o.Schema = "elsewhere" }, "run: tieout setup"},
		"no server":      {func(o *Options) { o.URL = "postgres://u:secret@127.0.0.1:1/d?sslmode=disable" }, "u@127.0.0.1:1/d: connect: connection refused"},
		"no database":    {func(o *Options) { o.URL = in.withDatabase("nowhere") }, `database "nowhere" does not exist`},
		"bad address":    {func(o *Options) { o.URL = "postgres://u:secret@h:port/d" }, "the address can't be read"},
		"a superuser":    {func(o *Options) { o.Role = in.superuser() }, "is a superuser"},
		"the owner":      {func(o *Options) { o.Role = in.setup.OwnerRole }, "may change sales_ledger, which is append-only"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), in.options(tt.change))
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestOpen_SaysThatALoginIsNotAMember(t *testing.T) {
	in := newDatabase(t)
	in.setup.URL = in.loginWithoutPrivileges("")
	_, err := Open(t.Context(), in.options())
	require.ErrorContains(t, err, "isn't a member of role")
}

// A concurrent change of a role's row shows as an internal error, or as the
// unique violation of a catalog: setting up looks again then.
func TestMigrate_LooksAgainAfterAnothersChangeOfTheSameRole(t *testing.T) {
	for _, state := range []string{stateInternal, stateUniqueViolation, stateDuplicateObject} {
		require.True(t, hasState(fmt.Errorf("create role: %w", &pgconn.PgError{Code: state}),
			stateDuplicateObject, stateUniqueViolation, stateInternal))
	}
	require.False(t, hasState(errors.New("no answer"), stateInternal))
}

// migrations are the steps that apply those which are embedded.
func migrations(t *testing.T) []string {
	t.Helper()
	files, err := schemas.Migrations.ReadDir("migrations")
	require.NoError(t, err)
	var steps []string
	for _, file := range files {
		steps = append(steps, "apply migration "+file.Name())
	}
	return steps
}

func lines(steps []Step) []string {
	list := make([]string, len(steps))
	for i, s := range steps {
		list[i] = s.String()
	}
	return list
}

// parallel runs functions at the same time and fails the test with their
// errors.
func parallel(t *testing.T, n int, run func(ctx context.Context, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = run(t.Context(), i) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
