package ledger

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// A proxy stands between a ledger and its server, and can lose one COMMIT, or
// the answer to it.
type proxy struct {
	listener net.Listener
	network  string
	address  string

	fault atomic.Int32 // what happens to the next COMMIT
	lost  atomic.Int32 // how many were
	late  time.Duration

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

const (
	faultNone = iota
	// faultSwallow: the server never gets COMMIT, and sees the connection end.
	faultSwallow
	// faultDropReply: the server commits, its answer is lost.
	faultDropReply
	// faultLate: the client's connection is cut, the server gets COMMIT later.
	faultLate
	// faultHang: the server never gets COMMIT, and takes its client for alive.
	faultHang
)

func (in *installation) newProxy() *proxy {
	in.t.Helper()
	config, err := pgx.ParseConfig(in.url)
	require.NoError(in.t, err)
	p := &proxy{}
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	p.listener, err = new(net.ListenConfig).Listen(in.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(in.t, err)
	p.wg.Go(p.accept)
	in.t.Cleanup(p.close)
	return p
}

// through makes an address lead through the proxy.
func (p *proxy) through(in *installation) func(*Options) {
	return func(o *Options) {
		o.URL = in.changeURL(func(u *url.URL) { u.Host = p.listener.Addr().String() })
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(context.Background(), p.network, p.address)
		if err != nil {
			_ = client.Close() // as if the server were away
			continue
		}
		p.keep(client)
		p.keep(server)
		l := &link{proxy: p, client: client, server: server}
		p.wg.Go(l.forward)
		p.wg.Go(l.back)
	}
}

// A link is one connection through the proxy.
type link struct {
	proxy          *proxy
	client, server net.Conn
	deaf           atomic.Bool // answers are lost
}

func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

func (l *link) forward() {
	buf := make([]byte, 1<<16)
	for {
		n, err := l.client.Read(buf)
		if n > 0 && bytes.Contains(buf[:n], []byte("COMMIT\x00")) && l.loseCommit(buf[:n]) {
			return
		}
		if n > 0 {
			if _, err := l.server.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	l.cut()
}

// loseCommit does to a COMMIT what the test asked for, once.
func (l *link) loseCommit(message []byte) bool {
	fault := l.proxy.fault.Swap(faultNone)
	if fault == faultNone {
		return false
	}
	l.proxy.lost.Add(1)
	switch fault {
	case faultSwallow:
		l.cut()
	case faultDropReply:
		l.deaf.Store(true)
		_, _ = l.server.Write(message)
	case faultLate:
		l.deaf.Store(true)
		_ = l.client.Close()
		time.Sleep(l.proxy.late)
		_, _ = l.server.Write(message)
	case faultHang:
		l.deaf.Store(true)
		_ = l.client.Close()
	}
	return true
}

func (l *link) back() {
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		if n > 0 && l.deaf.Load() {
			break // the answer was there, and is lost
		}
		if n > 0 {
			if _, err := l.client.Write(buf[:n]); err != nil && !l.deaf.Load() {
				break
			}
		}
		if err != nil {
			break
		}
	}
	l.cut()
}
