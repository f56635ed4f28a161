package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// testPostgres is the one server of a test process: started by the first test
// that asks for a database, stopped by Main.
var testPostgres sharedPostgres //nolint:gochecknoglobals // tests have nothing but their process in common

const (
	databaseVariable = "DATABASE_URL" // a server that is there already
	cacheVariable    = "TIEOUT_CACHE" // where a downloaded one is kept
)

// testPatience bounds the start of the server and each clean-up.
const testPatience = time.Minute

// A sharedPostgres is a server that starts when it's first needed.
type sharedPostgres struct {
	mu      sync.Mutex
	asked   bool
	server  *Postgres // nil: the one of DATABASE_URL
	address string
	err     error

	prefix string // of every name made by this process
	names  int
}

// A testDatabase is one that was made for a test, or the server's own where
// none may be made.
type testDatabase struct {
	server  string // address to make and drop databases at
	name    string // empty: the server's own
	address string
}

const insufficientPrivilege = "42501"

// makeDatabase makes a database of its own for a test.
func (s *sharedPostgres) makeDatabase(ctx context.Context) (testDatabase, error) {
	server, err := s.url(ctx)
	if err != nil {
		return testDatabase{}, err
	}
	name := s.newName("db")
	err = execute(ctx, server, "CREATE DATABASE "+name+" TEMPLATE template0")
	var denied *pgconn.PgError
	if errors.As(err, &denied) && denied.Code == insufficientPrivilege {
		return testDatabase{server: server, address: server}, nil
	}
	if err != nil {
		return testDatabase{}, err
	}
	address, err := withDatabase(server, name)
	return testDatabase{server: server, name: name, address: address}, err
}

func (d testDatabase) drop() error {
	if d.name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	return execute(ctx, d.server, "DROP DATABASE "+d.name+" WITH (FORCE)")
}

// withDatabase puts another database into an address, which is a URL or
// keyword=value pairs, of which the last of a kind counts.
func withDatabase(server, name string) (string, error) {
	if !strings.Contains(server, "://") {
		return server + " dbname=" + name, nil
	}
	address, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	address.Path = "/" + name
	return address.String(), nil
}

// url starts the server or finds the one to use.
func (s *sharedPostgres) url(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		return s.address, s.err
	}
	s.asked = true
	s.address = os.Getenv(databaseVariable) //nolint:forbidigo // what tests are told by
	if s.address != "" {
		return s.address, nil
	}
	// The server outlives the test that asks first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testPatience)
	defer cancel()
	cache := os.Getenv(cacheVariable) //nolint:forbidigo // what tests are told by
	s.server, s.err = StartPostgres(ctx, PostgresOptions{Unsafe: true, CacheDir: cache})
	if s.err == nil {
		s.address = s.server.URL()
	}
	return s.address, s.err
}

// newName makes a name for something of this process's on the server.
func (s *sharedPostgres) newName(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefix == "" {
		s.prefix = "tieout_test_" + strings.ToLower(rand.Text()[:8])
	}
	s.names++
	return fmt.Sprintf("%s_%s_%d", s.prefix, kind, s.names)
}

// stop ends the server, or tidies up on the one that goes on running.
func (s *sharedPostgres) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.server != nil:
		return s.server.Stop()
	case s.address == "" || s.prefix == "":
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), testPatience)
	defer cancel()
	return execute(ctx, s.address, strings.ReplaceAll(dropLeftovers, "PREFIX", s.prefix))
}

// dropLeftovers removes schemas, where tests had no database of their own, and
// roles, which belong to no database.
const dropLeftovers = `
DO $$
DECLARE name text;
BEGIN
	FOR name IN SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'PREFIX') LOOP
		EXECUTE format('DROP SCHEMA %I CASCADE', name);
	END LOOP;
	FOR name IN SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'PREFIX') LOOP
		EXECUTE format('DROP OWNED BY %I CASCADE', name);
		EXECUTE format('DROP ROLE %I', name);
	END LOOP;
END $$`

// execute runs statements on a connection of their own.
func execute(ctx context.Context, databaseURL, statements string) error {
	conn, err := pgconn.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}
