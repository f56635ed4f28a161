package devstack

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program is a stack in another process.
type program struct {
	cmd         *exec.Cmd
	environment map[string]string
	temporary   string // where its temporary files are
	errors      *bytes.Buffer
}

// startProgram runs a stack in another process, as another user where one is
// given, and waits until it's up.
func startProgram(t *testing.T, dir string, as *account) *program {
	t.Helper()
	p := &program{temporary: openDir(t), environment: map[string]string{}, errors: new(bytes.Buffer)}
	p.cmd = exec.CommandContext(t.Context(), copyOfThisBinary(t))
	p.cmd.Env = append(os.Environ(), stackVariable+"="+dir, "TMPDIR="+p.temporary)
	p.cmd.Dir = p.temporary
	p.cmd.Stderr = p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as.credential()}
	require.NoError(t, as.own(p.temporary))
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // the test failed before it ended it
			require.Error(t, p.cmd.Wait(), "the end of the test kills it")
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		name, value, _ := strings.Cut(lines.Text(), "=")
		p.environment[name] = value
	}
	if p.environment[databaseVariable] == "" {
		require.Fail(t, "the stack didn't come up", "%v: %s", p.cmd.Wait(), p.errors)
	}
	return p
}

// end sends the signal and waits for the process.
func (p *program) end(t *testing.T, signal syscall.Signal) error {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	return p.cmd.Wait()
}

// copyOfThisBinary lies where another user may run it: go test's own folder is
// closed.
func copyOfThisBinary(t *testing.T) string {
	t.Helper()
	this, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(this)
	require.NoError(t, err)
	defer func() { require.NoError(t, from.Close()) }()
	path := filepath.Join(openDir(t), "devstack.test")
	// A process that is forked while the file is open for writing keeps it so
	// for a moment, and nothing can be executed that somebody writes to.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return path
}

// openDir makes a folder that every user may enter, which those of t.TempDir
// aren't.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// requireClosed waits until nothing listens at the address: what a killed
// process left behind takes a moment to end.
func requireClosed(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			return true
		}
		require.NoError(t, conn.Close())
		return false
	}, 20*time.Second, 20*time.Millisecond, "something still listens at %s", address)
}
