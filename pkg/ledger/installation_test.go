package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// testGroup is the consumer group of the tests' ledgers.
const testGroup = "recon.validate"

// An installation is a schema of a test's own, set up.
type installation struct {
	t     testing.TB
	url   string // a superuser's
	setup MigrateOptions
}

// newInstallation is in the database that tests share, in which it stands alone
// by its schema and roles.
func newInstallation(t testing.TB) *installation {
	t.Helper()
	return emptyInstallation(t).migrate()
}

// newDatabase is in a database of its own, for tests that change what belongs
// to one.
func newDatabase(t testing.TB) *installation {
	t.Helper()
	return emptyDatabase(t).migrate()
}

// emptyInstallation and emptyDatabase have nothing in them yet.
func emptyInstallation(t testing.TB) *installation {
	t.Helper()
	in := installationAt(t, sharedDatabase(t))
	t.Cleanup(func() {
		config, err := pgx.ParseConfig(in.url)
		require.NoError(t, err)
		conn, err := pgx.ConnectConfig(context.Background(), config) // the test's own context has ended
		require.NoError(t, err)
		defer closeConn(context.Background(), conn)
		_, err = conn.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+quoted(in.setup.Schema)+" CASCADE")
		require.NoError(t, err)
	})
	return in
}

func emptyDatabase(t testing.TB) *installation {
	t.Helper()
	return installationAt(t, devstack.TestDatabase(t))
}

func installationAt(t testing.TB, address string) *installation {
	schema := devstack.TestSchema(t)
	return &installation{t: t, url: address, setup: MigrateOptions{
		URL: address, Schema: schema, OwnerRole: schema + "_owner", WorkerRole: schema + "_worker",
	}}
}

// shared is the address of the server's own database: to make one takes longer
// than most tests.
var shared struct {
	once    sync.Once
	address string
}

// sharedDatabase returns it. What a test makes there it drops.
func sharedDatabase(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.address = os.Getenv("DATABASE_URL"); shared.address == "" {
			server, err := url.Parse(devstack.TestDatabase(t))
			require.NoError(t, err)
			server.Path = "/postgres"
			shared.address = server.String()
		}
	})
	return shared.address
}

func (in *installation) migrate() *installation {
	in.t.Helper()
	_, err := Migrate(in.t.Context(), in.setup)
	require.NoError(in.t, err)
	return in
}

func (in *installation) options(change ...func(*Options)) Options {
	o := Options{
		URL: in.setup.URL, Schema: in.setup.Schema, Role: in.setup.WorkerRole,
		ConsumerGroup: testGroup, Stream: "sales", Table: sales.New().Table(),
		ApplicationName: in.setup.Schema, // by which a test knows its own connections
		Logger:          slog.New(slog.NewTextHandler(testLog{in.t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

func (in *installation) open(change ...func(*Options)) *Ledger {
	in.t.Helper()
	l, err := Open(in.t.Context(), in.options(change...))
	require.NoError(in.t, err)
	in.t.Cleanup(l.Close)
	require.NoError(in.t, l.RegisterRules(in.t.Context(), Rules{BinaryVersion: "test"}))
	return l
}

// connect opens a connection as a role of the installation's; empty is the
// superuser.
func (in *installation) connect(role string) *pgx.Conn {
	in.t.Helper()
	config, err := pgx.ParseConfig(in.url)
	require.NoError(in.t, err)
	setSession(config, in.setup.Schema, "test")
	config.RuntimeParams["role"] = role
	if role == "" {
		delete(config.RuntimeParams, "role")
	}
	conn, err := pgx.ConnectConfig(in.t.Context(), config)
	require.NoError(in.t, err)
	in.t.Cleanup(func() { closeConn(context.Background(), conn) })
	return conn
}

// exec runs statements as the owner.
func (in *installation) exec(sql string, args ...any) {
	in.t.Helper()
	conn := in.connect(in.setup.OwnerRole)
	_, err := conn.Exec(in.t.Context(), sql, args...)
	require.NoError(in.t, err)
	closeConn(in.t.Context(), conn)
}

// read returns the one row of a query, as the login.
func (in *installation) read(sql string, into ...any) {
	in.t.Helper()
	conn := in.connect("")
	require.NoError(in.t, conn.QueryRow(in.t.Context(), sql).Scan(into...))
	closeConn(in.t.Context(), conn)
}

func (in *installation) count(from string) (n int) {
	in.t.Helper()
	in.read("SELECT count(*) FROM "+from, &n)
	return n
}

// A testSource is a source that a test's worker has acquired.
type testSource struct {
	in     *installation
	ledger *Ledger
	id     int32
	topic  settle.TopicID
	owner  Token
	next   int64
}

// acquire takes a partition of a topic of this name as a new owner.
func (in *installation) acquire(l *Ledger, topic string, partition int32) *testSource {
	in.t.Helper()
	s := &testSource{in: in, ledger: l, owner: newToken(), topic: topicID(topic)}
	p, err := l.Acquire(in.t.Context(), AcquireRequest{
		Topic: topic, TopicID: s.topic, Partition: partition, Owner: s.owner, GroupOffset: -1,
	})
	require.NoError(in.t, err)
	require.Equal(in.t, StateActive, p.State)
	s.id, s.next = p.Source, p.NextOffset
	return s
}

// batch makes one of entries that have no offsets yet: they get the next ones.
func (s *testSource) batch(entries ...*settle.Entry) *Batch {
	b := &Batch{Source: s.id, Owner: s.owner, From: s.next, Next: s.next + int64(len(entries)), Entries: entries}
	for i, e := range entries {
		e.Record.TopicID, e.Record.Offset = s.topic, s.next+int64(i)
	}
	return b
}

// commit commits entries as one batch.
func (s *testSource) commit(entries ...*settle.Entry) {
	s.in.t.Helper()
	b := s.batch(entries...)
	require.NoError(s.in.t, s.ledger.Commit(s.in.t.Context(), b))
	s.next = b.Next
}

// progress is the source's row as it stands.
func (s *testSource) progress() (next int64, owned bool) {
	s.in.t.Helper()
	s.in.read(fmt.Sprintf("SELECT next_offset, owner IS NOT NULL FROM %s.progress WHERE source = %d", s.in.setup.Schema, s.id), &next, &owned)
	return next, owned
}

func newToken() (token Token) {
	_, _ = rand.Read(token[:])
	return token
}

// topicID makes an id of a name, so that a test can speak of it again.
func topicID(name string) (id settle.TopicID) {
	copy(id[:], name+"................")
	return id
}

// testLog writes a ledger's log lines to the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}

// within is a context that ends a test which hangs.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// loginWithoutPrivileges makes a login that owns the test's database and has
// these attributes, and returns the address with it.
func (in *installation) loginWithoutPrivileges(attributes string) string {
	in.t.Helper()
	conn := in.connect("")
	login := in.setup.Schema + "_login"
	_, err := conn.Exec(in.t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN %s PASSWORD 'secret'; ALTER DATABASE %s OWNER TO %[1]s",
		login, attributes, conn.Config().Database))
	require.NoError(in.t, err)
	return in.withUser(login, "secret")
}

func (in *installation) withUser(name, password string) string {
	return in.changeURL(func(u *url.URL) { u.User = url.UserPassword(name, password) })
}

func (in *installation) withDatabase(name string) string {
	return in.changeURL(func(u *url.URL) { u.Path = "/" + name })
}

func (in *installation) changeURL(change func(*url.URL)) string {
	in.t.Helper()
	u, err := url.Parse(in.setup.URL)
	require.NoError(in.t, err)
	change(u)
	return u.String()
}

func (in *installation) superuser() string {
	return in.connect("").Config().User
}

// connections counts those of the installation's ledgers, where a condition on
// pg_stat_activity holds.
func (in *installation) connections(where string) int {
	in.t.Helper()
	return in.count("pg_stat_activity WHERE application_name = '" + in.setup.Schema + "' AND " + where)
}
