package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/devstack"
)

// A devProcess is `tieout dev` in a process of its own, on a database in which
// nobody else has anything.
type devProcess struct {
	*exec.Cmd
	database string
	schema   string // once it's up
	temp     string // where its temporary files are
	stdout   *os.File
	stderr   bytes.Buffer
}

// startDevProcess starts one. wrapper comes before the command, as `nohup`.
func startDevProcess(t *testing.T, wrapper ...string) *devProcess {
	t.Helper()
	dev := &devProcess{database: devstack.TestDatabase(t), temp: t.TempDir()}
	words := append(wrapper, filepath.Join(installPrograms(t), "tieout"), "dev", "--log-level", "error")
	dev.Cmd = exec.Command(words[0], words[1:]...) //nolint:noctx,gosec // ended by signals, which is what is tested
	dev.Env = append(os.Environ(), "DATABASE_URL="+dev.database, "TMPDIR="+dev.temp)
	reads, writes, err := os.Pipe()
	require.NoError(t, err)
	dev.stdout, dev.Stdout, dev.Stderr = reads, writes, &dev.stderr
	require.NoError(t, dev.Start())
	require.NoError(t, writes.Close())
	t.Cleanup(func() {
		_ = dev.Process.Kill() // it has ended, unless the test failed
		_ = reads.Close()
	})
	return dev
}

// awaitUp waits until dev has printed what it exports.
func (dev *devProcess) awaitUp(t *testing.T) {
	t.Helper()
	lines := bufio.NewScanner(dev.stdout)
	for lines.Scan() {
		if schema, ok := strings.CutPrefix(lines.Text(), "export TIEOUT_SCHEMA="); ok {
			dev.schema = schema
		}
		if strings.HasPrefix(lines.Text(), "export TIEOUT_GROUP_PREFIX=") {
			return
		}
	}
	require.Fail(t, "dev didn't come up", "%s", &dev.stderr)
}

// end waits for the process, and makes sure that it left nothing behind.
func (dev *devProcess) end(t *testing.T) (code int) {
	t.Helper()
	var exit *exec.ExitError
	if err := dev.Wait(); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.True(t, dev.ProcessState.Exited(), "ended by a signal: %s", dev.ProcessState)
	require.Empty(t, schemasIn(t, dev.database))
	if dev.schema != "" {
		var roles bytes.Buffer
		require.NoError(t, query(t.Context(), &roles, dev.database, "SELECT rolname FROM pg_roles WHERE starts_with(rolname, '"+dev.schema+"')"))
		require.Empty(t, roles.String())
	}
	left, err := os.ReadDir(dev.temp)
	require.NoError(t, err)
	require.Empty(t, left)
	return dev.ProcessState.ExitCode()
}

// A terminal that is closed tells it twice: the shell does, and the system.
func TestSIGHUPAsksForAnEndInGoodOrderHoweverOftenItComes(t *testing.T) {
	dev := startDevProcess(t)
	dev.awaitUp(t)
	for range 3 {
		require.NoError(t, dev.Process.Signal(syscall.SIGHUP))
		time.Sleep(5 * time.Millisecond)
	}
	require.Equal(t, exitDone, dev.end(t), dev.stderr.String())
}

func TestSIGHUPMeansNothingUnderNohup(t *testing.T) {
	dev := startDevProcess(t, "nohup")
	dev.awaitUp(t)
	require.NoError(t, dev.Process.Signal(syscall.SIGHUP))
	time.Sleep(200 * time.Millisecond)
	require.Len(t, schemasIn(t, dev.database), 1, "it's up")
	require.NoError(t, dev.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitDone, dev.end(t), dev.stderr.String())
}

func TestAReaderThatWentAwayLetsACommandTakeAwayWhatItMade(t *testing.T) {
	dev := startDevProcess(t)
	require.NoError(t, dev.stdout.Close())
	require.Equal(t, exitFailed, dev.end(t))
	require.Empty(t, dev.stderr.String())
}

func TestAFullDiskIsAFailureOfEveryCommandThatPrints(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer func() { require.NoError(t, full.Close()) }()
	for _, args := range [][]string{{"config"}, {"config", "--format", "json"}, {"version"}, {"--help"}} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(installPrograms(t), "tieout"), args...) //nolint:gosec // this binary
		cmd.Stdout = full
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said, err := io.ReadAll(stderr)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
		require.Equal(t, "tieout: write the result: write /dev/stdout: no space left on device\n", string(said))
	}
}
