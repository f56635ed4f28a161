package pipeline

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams/sales"
)

// An outage pauses partitions; it convicts no record, and work goes on by
// itself once it is over.

func TestOutage_DatabaseAwayInMidLoad(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	gate, url := in.databaseGate()
	l := in.openLedger(url)
	w, stop := in.start(func(o *Options) { o.Ledger = l; o.CommitTimeout = 2 * time.Second })
	in.assertPausesAndResumes(w, gate)
	require.NoError(t, stop())
}

func TestOutage_BrokerAwayInMidLoad(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	gate := newGate(t)
	w, stop := in.start(func(o *Options) {
		o.Client = append(o.Client, kgo.Dialer(gate.dial))
		o.TransactionTimeout = 3 * time.Second
	})
	in.assertPausesAndResumes(w, gate)
	require.NoError(t, stop())
}

func TestOutage_RegistryAwayForASchemaThatIsNew(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	gate := newGate(t)
	address, err := url.Parse(in.registry.URL())
	require.NoError(t, err)
	gate.shut()
	registry, err := codec.NewRegistry(codec.RegistryOptions{URL: "http://" + gate.listen(address.Host), Timeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	reader, err := codec.NewReader(schemas.SalesEnvelope, sales.Envelope{}, codec.ReaderOptions{})
	require.NoError(t, err)
	w, stop := in.start(func(o *Options) { o.Decoders = codec.NewDecoders(registry, reader) })

	in.produce(claim{invoice: "A"})
	in.eventuallyReady(w, false)
	gate.open()
	in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
	in.eventuallyReady(w, true)
	require.NoError(t, stop())
	assert.Empty(t, in.sql(`SELECT string_agg(reason, ' ') FROM dead_letter`))
}

func TestStop_InAnOutageTakesNoLongerThanAnyOther(t *testing.T) {
	t.Parallel()
	for name, stage := range map[string]func(*installation, *gate) func(*Options){
		"database": func(in *installation, g *gate) func(*Options) {
			*g = *in.newDatabaseGate()
			l := in.openLedger(g.url)
			return func(o *Options) { o.Ledger = l }
		},
		"broker": func(in *installation, g *gate) func(*Options) {
			*g = *newGate(in.t)
			return func(o *Options) { o.Client = append(o.Client, kgo.Dialer(g.dial)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t)
			g := new(gate)
			_, stop := in.start(stage(in, g))
			in.produce(claim{invoice: "A"})
			in.eventually("1", `SELECT count(*)::text FROM sales_ledger`)
			g.shut()
			in.produce(claim{invoice: "B"})
			time.Sleep(time.Second)
			started := time.Now()
			require.NoError(t, stop())
			assert.Less(t, time.Since(started), 10*time.Second)
			g.open()
			in.drain()
			assert.Len(t, in.outcomes(), 2)
		})
	}
}

// assertPausesAndResumes shuts the gate in mid-load and opens it again.
func (in *installation) assertPausesAndResumes(w *Worker, g *gate) {
	in.t.Helper()
	in.produce(claim{invoice: "A"}, claim{invoice: "B", partition: 1})
	in.eventually("2", `SELECT count(*)::text FROM sales_ledger`)
	g.shut()
	in.produce(claim{invoice: "C"}, claim{invoice: "D", partition: 1}, claim{invoice: "E", units: "-1"})
	in.eventuallyReady(w, false)
	time.Sleep(2 * time.Second)
	assert.Equal(in.t, "2", in.sql(`SELECT count(*)::text FROM sales_ledger`))
	g.open()
	in.eventually("4", `SELECT count(*)::text FROM sales_ledger`)
	in.eventually("1", `SELECT count(*)::text FROM dead_letter`)
	in.eventuallyReady(w, true)
	for deadline := time.Now().Add(20 * time.Second); len(in.outcomes()) < 5 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	assert.Len(in.t, in.outcomes(), 5)
}

func (in *installation) eventuallyReady(w *Worker, want bool) {
	in.t.Helper()
	var why string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var ready bool
		if ready, why = w.Ready(); ready == want {
			if !want {
				assert.NotEmpty(in.t, why, "it says why")
			}
			return
		}
	}
	in.t.Fatalf("waited for ready = %t: %s", want, why)
}

func (in *installation) databaseGate() (*gate, string) {
	g := in.newDatabaseGate()
	return g, g.url
}

func (in *installation) newDatabaseGate() *gate {
	in.t.Helper()
	g := newGate(in.t)
	address, err := url.Parse(in.url)
	require.NoError(in.t, err)
	address.Host = g.listen(address.Host)
	g.url = address.String()
	return g
}

// A gate lets connections through, or cuts them all and takes no new one.
type gate struct {
	t   *testing.T
	url string

	mu    *sync.Mutex
	state *gateState
}

type gateState struct {
	isShut bool
	conns  map[net.Conn]bool
}

func newGate(t *testing.T) *gate {
	return &gate{t: t, mu: new(sync.Mutex), state: &gateState{conns: map[net.Conn]bool{}}}
}

var errShut = errors.New("the gate is shut")

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.isShut = true
	for c := range g.state.conns {
		_ = c.Close()
	}
	clear(g.state.conns)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.isShut = false
}

// dial connects through the gate.
func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.isShut {
		return nil, errors.Join(errShut, conn.Close())
	}
	g.state.conns[conn] = true
	return conn, nil
}

// listen forwards a port of its own to a server, and returns its address.
func (g *gate) listen(server string) string {
	g.t.Helper()
	listener, err := new(net.ListenConfig).Listen(g.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(g.t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { g.forward(client, server) })
		}
	})
	g.t.Cleanup(func() {
		_ = listener.Close()
		g.shut()
		serving.Wait()
	})
	return listener.Addr().String()
}

func (g *gate) forward(client net.Conn, server string) {
	defer client.Close()
	upstream, err := g.dial(context.Background(), "tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, upstream)
		_ = client.Close()
	})
	_, _ = io.Copy(upstream, client)
	_ = upstream.Close()
	back.Wait()
}
