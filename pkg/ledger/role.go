package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// checkRole tells whether a worker's connection is the role that it ought to
// be, with the rights that it needs and none of those that it must not have.
func checkRole(ctx context.Context, conn *pgx.Conn, role, table string) error {
	var user string
	var superuser, temporary, inserts, changes bool
	err := conn.QueryRow(ctx, `
SELECT current_user, r.rolsuper, has_database_privilege(current_database(), 'TEMPORARY'),
	has_table_privilege($1, 'SELECT') AND has_table_privilege($1, 'INSERT'),
	has_table_privilege($1, 'UPDATE') OR has_table_privilege($1, 'DELETE') OR has_table_privilege($1, 'TRUNCATE')
FROM pg_roles r WHERE r.rolname = current_user`, table).Scan(&user, &superuser, &temporary, &inserts, &changes)
	refuse := func(format string, args ...any) error {
		return &RoleError{Role: role, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case err != nil:
		return fmt.Errorf("check role %s: %w", role, err)
	case user != role:
		return refuse("isn't the connection's, which is %s: does a pooler drop the startup parameter role?", user)
	case superuser:
		return refuse("is a superuser: nothing would keep it from changing the ledger")
	case changes:
		return refuse("may change %s, which is append-only", table)
	case !inserts:
		return refuse("may not insert into %s: run: tieout setup", table)
	case !temporary:
		return refuse("may not create temporary tables: run: tieout setup")
	}
	return nil
}

// A catalog is what a database has of an installation so far.
type catalog struct {
	login     string
	superuser bool

	ownerExists, workerExists bool
	schemaOwner               string // empty: there is no schema
	version                   int32  // 0: nothing is migrated
}

func readCatalog(ctx context.Context, conn *pgx.Conn, o *MigrateOptions) (c catalog, err error) {
	var versioned bool
	err = conn.QueryRow(ctx, `
SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
	EXISTS (SELECT FROM pg_roles WHERE rolname = $1), EXISTS (SELECT FROM pg_roles WHERE rolname = $2),
	coalesce((SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = $3), ''),
	EXISTS (SELECT FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $3 AND relname = $4)`,
		o.OwnerRole, o.WorkerRole, o.Schema, versionTable).
		Scan(&c.login, &c.superuser, &c.ownerExists, &c.workerExists, &c.schemaOwner, &versioned)
	if err != nil {
		return c, err
	}
	if versioned {
		err = c.readVersion(ctx, conn, o)
	}
	return c, err
}

// readVersion reads it as the login, or else as the owner: a login that doesn't
// inherit what it's a member of may do little by itself.
func (c *catalog) readVersion(ctx context.Context, conn *pgx.Conn, o *MigrateOptions) error {
	query := "SELECT version FROM " + quoted(o.Schema) + "." + versionTable
	refusal := conn.QueryRow(ctx, query).Scan(&c.version)
	if !hasState(refusal, stateInsufficientRight) {
		return refusal
	}
	member, err := c.isMember(ctx, conn, o.OwnerRole, c.ownerExists)
	if err != nil {
		return err
	}
	if !member {
		membership := []change{{sql: grantTo(c.login, o.OwnerRole, o.WorkerRole)}}
		return c.rightsError(membership, postgresError(refusal).Message, refusal)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+quoted(o.OwnerRole)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, query).Scan(&c.version)
	})
}

// grantTo makes a login a member of roles.
func grantTo(login string, roles ...string) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = quoted(role)
	}
	return "GRANT " + strings.Join(names, ", ") + " TO " + quoted(login)
}

// A change is a step with the statement that makes it.
type change struct {
	Step
	sql string
}

// foundation is what has to be done before migrations can run: roles, their
// members, the schema.
func (c *catalog) foundation(ctx context.Context, conn *pgx.Conn, o *MigrateOptions) ([]change, error) {
	var changes []change
	add := func(action, object, sql string) {
		changes = append(changes, change{Step{action, object}, sql})
	}
	for _, role := range []struct {
		name   string
		exists bool
	}{{o.OwnerRole, c.ownerExists}, {o.WorkerRole, c.workerExists}} {
		if !role.exists {
			add("create role", role.name, "CREATE ROLE "+quoted(role.name)+" NOLOGIN")
		}
		member, err := c.isMember(ctx, conn, role.name, role.exists)
		if err != nil {
			return nil, err
		}
		if !member {
			add("grant role", role.name+" to "+c.login, grantTo(c.login, role.name))
		}
	}
	switch c.schemaOwner {
	case o.OwnerRole:
	case "":
		add("create schema", o.Schema, "CREATE SCHEMA "+quoted(o.Schema)+" AUTHORIZATION "+quoted(o.OwnerRole))
	default:
		return nil, &OptionError{"Schema", fmt.Sprintf("%s belongs to %s, not to %s: choose another, or: ALTER SCHEMA %[1]s OWNER TO %[3]s", o.Schema, c.schemaOwner, o.OwnerRole)}
	}
	temporary, err := c.mayUseTemporary(ctx, conn, o.WorkerRole)
	if err != nil {
		return nil, err
	}
	if !temporary {
		add("grant temporary tables", "to "+o.WorkerRole,
			"GRANT TEMPORARY ON DATABASE "+quoted(conn.Config().Database)+" TO "+quoted(o.WorkerRole))
	}
	return changes, nil
}

// isMember tells whether the login can act as a role. From Postgres 16 on, to
// have created a role is membership without the right to.
func (c *catalog) isMember(ctx context.Context, conn *pgx.Conn, role string, exists bool) (member bool, err error) {
	if c.superuser || !exists {
		return c.superuser, nil
	}
	err = conn.QueryRow(ctx, `
SELECT pg_has_role($1, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)`, role).Scan(&member)
	return member, err
}

// mayUseTemporary tells whether the worker may create temporary tables, as
// everyone may where that wasn't taken away.
func (c *catalog) mayUseTemporary(ctx context.Context, conn *pgx.Conn, worker string) (may bool, err error) {
	if c.workerExists {
		err = conn.QueryRow(ctx, "SELECT has_database_privilege($1, current_database(), 'TEMPORARY')", worker).Scan(&may)
		return may, err
	}
	err = conn.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
	WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'TEMPORARY')`).Scan(&may)
	return may, err
}
