package ledger

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// A process that is stopped keeps its connections. What it holds up meanwhile
// has to be nothing, or to end by itself.

func TestStopped_InTheMiddleOfCopyHoldsNoLock(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	stopped, successor := in.acquire(l, "claims", 0), in.acquire(l, "claims", 1)
	c := stopped.committing(newClaim("A"), newClaim("B"))
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	ctx, wake := context.WithCancel(t.Context())
	half := &halfReader{from: c.stage.first(2), left: 300, stop: ctx.Done()}
	ended := make(chan error)
	go func() {
		_, err := held.conn.Conn().PgConn().CopyFrom(t.Context(), half, l.statements.copyStage)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return in.connections("state = 'active' AND wait_event = 'ClientRead'") == 1
	}, 5*time.Second, 5*time.Millisecond)
	successor.commit(newClaim("A"), newClaim("B"))
	_, err = l.Acquire(t.Context(), in.request("claims"))
	require.NoError(t, err)
	wake()
	require.Error(t, <-ended)
}

// halfReader reads a part, and then nothing until it's told to fail.
type halfReader struct {
	from io.Reader
	left int
	stop <-chan struct{}
}

func (r *halfReader) Read(into []byte) (int, error) {
	if r.left == 0 {
		<-r.stop
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.from.Read(into[:min(len(into), r.left)])
	r.left -= n
	return n, err
}

// Dead letters are the only large message that is sent while locks are held. A
// server that has got half of it takes its client for idle, since the message is
// the first of its round trip.
func TestStopped_InTheMiddleOfDeadLettersIsEndedByTheServer(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.IdleInTransactionTimeout = 300 * time.Millisecond })
	source := in.acquire(l, "claims", 0)
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	_, err = source.committing(newClaim("A")).judge(t.Context(), held)
	require.NoError(t, err)

	conn := held.conn.Conn().PgConn()
	_, err = conn.Prepare(t.Context(), "bury", "SELECT $1::text", nil)
	require.NoError(t, err)
	bind, err := (&pgproto3.Bind{PreparedStatement: "bury", Parameters: [][]byte{[]byte(strings.Repeat("x", 1<<20))}}).Encode(nil)
	require.NoError(t, err)
	_, err = conn.Conn().Write(bind[:len(bind)/2])
	require.NoError(t, err)

	other := in.acquire(in.open(), "claims", 1)
	other.commit(newClaim("A")) // waits for the lock, and gets it
}
