package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/tieout/tieout/schemas"
)

// MigrateOptions say what is set up, and where.
type MigrateOptions struct {
	// URL's login may create roles and schemas, or finds them there.
	URL    string
	Schema string
	// OwnerRole owns everything in the schema; WorkerRole may do what a worker
	// does, and no more. Nobody logs in as either: the login is a member.
	OwnerRole  string
	WorkerRole string
	// DryRun finds out what is to be done, and does nothing.
	DryRun bool
}

// Validate names the first option that can't be used.
func (o *MigrateOptions) Validate() error {
	if o.URL == "" {
		return &OptionError{"URL", "is empty"}
	}
	if o.OwnerRole == o.WorkerRole {
		return &OptionError{"WorkerRole", "is the owner's: the worker could change what is posted"}
	}
	return checkNames(name{"Schema", o.Schema}, name{"OwnerRole", o.OwnerRole}, name{"WorkerRole", o.WorkerRole})
}

// A Step is one thing that setting up does.
type Step struct {
	Action string // create role, apply migration
	Object string // what it is done to
}

// String says the step in a line.
func (s Step) String() string { return s.Action + " " + s.Object }

// versionTable is tern's, in the installation's own schema.
const versionTable = "schema_version"

// setupLock is held while a database is set up: ten at once are fine.
const setupLock = 0x7469656f6f7574 // "tieoout"

// maxSetupTries bounds how often setting up gives way to another one: roles are
// shared by all databases of a server, which the lock is not.
const maxSetupTries = 10

// Migrate sets a database up or brings it up to date, and returns what was done,
// or in a dry run what would be. Where there is nothing to do it returns
// nothing. It can be repeated at any time.
func Migrate(ctx context.Context, o MigrateOptions) ([]Step, error) {
	conn, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(ctx, conn)
	m, err := newMigrator(ctx, nil, &o)
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		return o.plan(ctx, conn, m)
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(setupLock)); err != nil {
		return nil, fmt.Errorf("set up: wait for another: %w", err)
	}
	steps, err := o.found(ctx, conn)
	if err != nil {
		return steps, fmt.Errorf("set up: %w", err)
	}
	applied, err := o.apply(ctx, conn)
	if err != nil {
		err = fmt.Errorf("set up: %w", err)
	}
	return append(steps, applied...), err
}

func (o *MigrateOptions) connect(ctx context.Context) (*pgx.Conn, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, addressError(err)
	}
	setSession(config, o.Schema, "tieout setup")
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, connectError(config, err)
	}
	return conn, nil
}

// plan finds out what is to be done.
func (o *MigrateOptions) plan(ctx context.Context, conn *pgx.Conn, m *migrate.Migrator) ([]Step, error) {
	c, err := readCatalog(ctx, conn, o)
	if err != nil {
		return nil, err
	}
	changes, err := c.foundation(ctx, conn, o)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, change := range changes {
		steps = append(steps, change.Step)
	}
	if int(c.version) > len(m.Migrations) {
		return steps, ErrSchemaNewer
	}
	for _, migration := range m.Migrations[c.version:] {
		steps = append(steps, applyStep(migration.Name))
	}
	return steps, nil
}

func applyStep(migration string) Step { return Step{"apply migration", migration} }

// found makes roles and schema. Where another database's set-up made a role at
// the same moment, it looks again.
func (o *MigrateOptions) found(ctx context.Context, conn *pgx.Conn) (steps []Step, err error) {
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		err := o.foundOnce(ctx, conn, &steps)
		if err != nil && !hasState(err, stateDuplicateObject, stateUniqueViolation, stateInternal) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(newBackOff()), backoff.WithMaxTries(maxSetupTries))
	return steps, err
}

func (o *MigrateOptions) foundOnce(ctx context.Context, conn *pgx.Conn, steps *[]Step) error {
	c, err := readCatalog(ctx, conn, o)
	if err != nil {
		return err
	}
	changes, err := c.foundation(ctx, conn, o)
	if err != nil {
		return err
	}
	for i, change := range changes {
		if _, err := conn.Exec(ctx, change.sql); err != nil {
			return c.refused(changes[i:], err)
		}
		*steps = append(*steps, change.Step)
	}
	return o.checkFoundation(ctx, conn, len(changes))
}

// checkFoundation looks again after changes. To grant what one hasn't got is no
// error to Postgres: it does nothing, and warns.
func (o *MigrateOptions) checkFoundation(ctx context.Context, conn *pgx.Conn, changes int) error {
	if changes == 0 {
		return nil
	}
	c, err := readCatalog(ctx, conn, o)
	if err != nil {
		return err
	}
	missing, err := c.foundation(ctx, conn, o)
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.rightsError(missing, missing[0].String()+" had no effect", nil)
}

// apply runs the migrations that are missing, as the owner. tern resets the
// session after each; neither role nor search_path are lost by that.
func (o *MigrateOptions) apply(ctx context.Context, conn *pgx.Conn) (steps []Step, err error) {
	if _, err := conn.Exec(ctx, "SET ROLE "+quoted(o.OwnerRole)); err != nil {
		return nil, fmt.Errorf("act as %s: %w", o.OwnerRole, err)
	}
	m, err := newMigrator(ctx, conn, o)
	if err != nil {
		return nil, err
	}
	version, err := m.GetCurrentVersion(ctx)
	if err != nil {
		return nil, err
	}
	if int(version) > len(m.Migrations) {
		return nil, ErrSchemaNewer
	}
	m.OnStart = func(_ int32, name, _, _ string) { steps = append(steps, applyStep(name)) }
	return steps, m.Migrate(ctx)
}

// newMigrator makes tern's, which without a connection only knows the
// migrations.
func newMigrator(ctx context.Context, conn *pgx.Conn, o *MigrateOptions) (*migrate.Migrator, error) {
	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	m.Data = map[string]any{"schema": quoted(o.Schema), "owner": quoted(o.OwnerRole), "worker": quoted(o.WorkerRole)}
	files, err := fs.Sub(schemas.Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	if err := m.LoadMigrations(files); err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return m, nil
}

// CurrentVersion returns the version of a database's schema, 0 where there is
// none, and that of this tieout.
func CurrentVersion(ctx context.Context, o MigrateOptions) (have, want int32, err error) {
	conn, err := o.connect(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer closeConn(ctx, conn)
	m, err := newMigrator(ctx, nil, &o)
	if err != nil {
		return 0, 0, err
	}
	c, err := readCatalog(ctx, conn, &o)
	return c.version, int32(len(m.Migrations)), err
}

// checkVersion tells whether the schema that a connection sees is this
// tieout's.
func checkVersion(ctx context.Context, conn *pgx.Conn) error {
	m, err := newMigrator(ctx, nil, &MigrateOptions{})
	if err != nil {
		return err
	}
	var version int
	err = conn.QueryRow(ctx, "SELECT version FROM "+versionTable).Scan(&version)
	switch {
	case hasState(err, stateUndefinedTable, stateInvalidSchema, stateInsufficientRight) || errors.Is(err, pgx.ErrNoRows):
		return ErrSchemaOutdated
	case err != nil:
		return fmt.Errorf("schema version: %w", err)
	case version < len(m.Migrations):
		return ErrSchemaOutdated
	case version > len(m.Migrations):
		return ErrSchemaNewer
	}
	return nil
}
