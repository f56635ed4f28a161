package devstack

import (
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"
)

// Main runs a package's tests, stops the server that they used and fails them
// if they left goroutines behind. It's the whole body of a TestMain.
func Main(m *testing.M, options ...goleak.Option) {
	goleak.VerifyTestMain(stoppingMain{m}, options...)
}

type stoppingMain struct {
	tests *testing.M
}

func (m stoppingMain) Run() int {
	code := m.tests.Run()
	if err := testPostgres.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
		return max(code, 1)
	}
	return code
}

// TestDatabase makes a database for this test alone and returns its address,
// as the superuser of a server that is this test process's own, or as the role
// of DATABASE_URL where that is set. A role there that may not make databases
// gets the one that it names: tests keep to a TestSchema in either case.
func TestDatabase(tb testing.TB) string {
	tb.Helper()
	database, err := testPostgres.makeDatabase(tb.Context())
	if err != nil {
		tb.Fatalf("no database for this test: %v", err)
	}
	tb.Cleanup(func() {
		if err := database.drop(); err != nil {
			tb.Errorf("the test's database stays: %v", err)
		}
	})
	return database.address
}

// TestSchema returns a name that no other test uses, for a schema and, with a
// suffix, for roles: those are shared by all databases of a server. Main drops
// what was made under it on a server that goes on running.
func TestSchema(tb testing.TB) string {
	tb.Helper()
	return testPostgres.newName("schema")
}

// TestKafka starts a cluster for this test alone.
func TestKafka(tb testing.TB, settings ...kfake.Opt) *Kafka {
	tb.Helper()
	kafka, err := StartKafka(tb.Context(), KafkaOptions{Fake: settings})
	if err != nil {
		tb.Fatalf("no Kafka for this test: %v", err)
	}
	tb.Cleanup(func() {
		if err := kafka.Close(); err != nil {
			tb.Errorf("the test's Kafka: %v", err)
		}
	})
	return kafka
}

// TestRegistry starts a schema registry for this test alone.
func TestRegistry(tb testing.TB) *Registry {
	tb.Helper()
	registry, err := StartRegistry(tb.Context(), RegistryOptions{})
	if err != nil {
		tb.Fatalf("no schema registry for this test: %v", err)
	}
	tb.Cleanup(func() {
		if err := registry.Close(); err != nil {
			tb.Errorf("the test's schema registry: %v", err)
		}
	})
	return registry
}
