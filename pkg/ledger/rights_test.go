package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireRemedy makes sure that setting up says in one line what an
// administrator has to do, and that it's all that was missing.
func requireRemedy(t *testing.T, in *installation, want ...string) {
	t.Helper()
	_, err := Migrate(t.Context(), in.setup)
	var rights *RightsError
	require.ErrorAs(t, err, &rights)
	login := in.setup.Schema + "_login"
	require.Equal(t, login, rights.Login)
	require.Equal(t, want, rights.Remedy)
	require.Regexp(t, "^set up: database role "+login+" lacks the rights to set up \\(.+\\): run `tieout setup` as an administrator, or have one run this and then run it again: ", err.Error())
	require.True(t, strings.HasSuffix(err.Error(), strings.Join(want, "; ")+";"), err.Error())
	require.NotContains(t, err.Error(), "SQLSTATE")
	require.NotContains(t, err.Error(), "\n")

	conn := in.connect("")
	for _, sql := range rights.Remedy {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	_, err = Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	in.acquire(in.open(), "claims", 0).commit(newClaim("A"))
}

func quotedRoles(in *installation) (owner, worker, login string) {
	return quoted(in.setup.OwnerRole), quoted(in.setup.WorkerRole), quoted(in.setup.Schema + "_login")
}

func TestRights_ALoginThatMayNotCreateRolesSaysWhatAnAdministratorHasToDo(t *testing.T) {
	in := emptyDatabase(t)
	in.setup.URL = in.loginWithoutPrivileges("")
	owner, worker, login := quotedRoles(in)
	requireRemedy(t, in,
		"CREATE ROLE "+owner+" NOLOGIN", "GRANT "+owner+" TO "+login,
		"CREATE ROLE "+worker+" NOLOGIN", "GRANT "+worker+" TO "+login,
		"CREATE SCHEMA "+quoted(in.setup.Schema)+" AUTHORIZATION "+owner)
}

func TestRights_ALoginThatMayNotGrantRolesAsksForThat(t *testing.T) {
	in := emptyDatabase(t)
	in.setup.URL = in.loginWithoutPrivileges("")
	owner, worker, login := quotedRoles(in)
	in.asSuperuser(fmt.Sprintf("CREATE ROLE %s NOLOGIN; CREATE ROLE %s NOLOGIN; CREATE SCHEMA %s AUTHORIZATION %[1]s", owner, worker, quoted(in.setup.Schema)))
	requireRemedy(t, in, "GRANT "+owner+" TO "+login, "GRANT "+worker+" TO "+login)
}

func TestRights_ALoginThatIsNoMemberOfWhatIsSetUpAsksForThat(t *testing.T) {
	in := newDatabase(t)
	in.setup.URL = in.loginWithoutPrivileges("")
	owner, worker, login := quotedRoles(in)
	requireRemedy(t, in, "GRANT "+owner+", "+worker+" TO "+login)
}

func TestRights_AGrantWithoutEffectIsNoticed(t *testing.T) {
	in := emptyDatabase(t)
	login := in.loginWithoutPrivileges("")
	conn := in.connect("")
	owner, worker, name := quotedRoles(in)
	in.asSuperuser(fmt.Sprintf(`ALTER DATABASE %[1]s OWNER TO CURRENT_USER; REVOKE TEMPORARY ON DATABASE %[1]s FROM PUBLIC;
CREATE ROLE %[2]s NOLOGIN; CREATE ROLE %[3]s NOLOGIN; CREATE SCHEMA %[4]s AUTHORIZATION %[2]s; GRANT %[2]s, %[3]s TO %[5]s`,
		conn.Config().Database, owner, worker, quoted(in.setup.Schema), name))
	in.setup.URL = login
	requireRemedy(t, in, "GRANT TEMPORARY ON DATABASE "+quoted(conn.Config().Database)+" TO "+worker)
}

func TestRights_ALoginThatInheritsNothingSetsUpAsTheOwner(t *testing.T) {
	in := newDatabase(t)
	in.setup.URL = in.loginWithoutPrivileges("NOINHERIT")
	owner, worker, login := quotedRoles(in)
	in.asSuperuser(fmt.Sprintf("GRANT %s, %s TO %s", owner, worker, login))
	steps, err := Migrate(t.Context(), in.setup)
	require.NoError(t, err)
	require.Empty(t, steps)
}

func (in *installation) asSuperuser(sql string) {
	in.t.Helper()
	_, err := in.connect("").Exec(in.t.Context(), sql)
	require.NoError(in.t, err)
}
