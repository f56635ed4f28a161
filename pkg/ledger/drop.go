package ledger

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
)

// Drop takes an installation away: its schema with all that is in it, and its
// two roles. It's for one that was made for a while, and that nobody works in.
// Where parts of it are missing, as after a set-up that was cut short, it takes
// what there is.
func Drop(ctx context.Context, o MigrateOptions) error {
	conn, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	// A set-up that was cut short may still be at work in its backend.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(setupLock)); err != nil {
		return fmt.Errorf("drop %s: wait for its set-up: %w", o.Schema, err)
	}
	if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+quoted(o.Schema)+" CASCADE"); err != nil {
		return fmt.Errorf("drop schema %s: %w", o.Schema, err)
	}
	for _, role := range []string{o.WorkerRole, o.OwnerRole} {
		if err := dropRole(ctx, conn, role); err != nil {
			return fmt.Errorf("drop role %s: %w", role, err)
		}
	}
	return nil
}

// stateDependentObjects is what DROP ROLE ends with while a backend of the role
// is about to end and still has its stage.
const stateDependentObjects = "2BP01"

func dropRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role).Scan(&exists)
	if err != nil || !exists {
		return err
	}
	// Set-up may have granted temporary tables, which belongs to no schema.
	if _, err := conn.Exec(ctx, "REVOKE ALL ON DATABASE "+quoted(conn.Config().Database)+" FROM "+quoted(role)); err != nil {
		return err
	}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		_, err := conn.Exec(ctx, "DROP ROLE "+quoted(role))
		if err != nil && !hasState(err, stateDependentObjects) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(newBackOff()))
	return err
}
