package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A home is the folder of one Postgres: its lock, data, log and password.
type home struct {
	dir       string
	temporary bool
	account   *account
	lock      *dirLock
}

const temporaryHomes = "tieout-postgres-"

// stoppingPatience is how long a folder's lock is waited for: a Postgres
// whose parent was killed still writes its last checkpoint.
const stoppingPatience = 30 * time.Second

// openHome makes or takes up the folder, or makes a temporary one where none
// is named.
func openHome(ctx context.Context, dir string, account *account) (*home, error) {
	if dir == "" {
		return openTemporaryHome(account)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, homeMode(account)); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, stoppingPatience)
	defer cancel()
	lock, err := awaitLock(waiting, dir)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errLocked):
		return nil, &DataInUseError{Dir: dir}
	case err != nil:
		return nil, err
	}
	return enterHome(&home{dir: dir, account: account, lock: lock})
}

func openTemporaryHome(account *account) (*home, error) {
	sweepHomes(os.TempDir())
	dir, err := os.MkdirTemp("", temporaryHomes)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if errors.Is(err, errLocked) || errors.Is(err, os.ErrNotExist) {
		return openTemporaryHome(account) // swept by a process that took it for a left-over
	}
	if err != nil {
		return nil, err
	}
	h := &home{dir: dir, temporary: true, account: account, lock: lock}
	if err := os.Chmod(dir, homeMode(account)); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return enterHome(h)
}

// enterHome makes sure that Postgres can live there.
func enterHome(h *home) (*home, error) {
	if err := h.account.checkReach(h.dir); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// homeMode lets another account pass through to its data folder.
func homeMode(account *account) os.FileMode {
	if account != nil {
		return 0o711
	}
	return 0o700
}

// sweepHomes removes this user's temporary homes whose processes were killed.
func sweepHomes(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, temporaryHomes+"*"))
	for _, dir := range left {
		if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil || !isOurs(dir) {
			continue // just being made, or another user's
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue // lived in
		}
		// What can't be removed now is tried again by the next start.
		_ = os.RemoveAll(dir)
		_ = lock.release()
	}
}

func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}

func (h *home) data() string         { return filepath.Join(h.dir, "data") }
func (h *home) log() string          { return filepath.Join(h.dir, "postgres.log") }
func (h *home) passwordFile() string { return filepath.Join(h.dir, "password") }

// close gives the folder up, and removes a temporary one. Postgres is gone.
func (h *home) close() error {
	var err error
	if h.temporary {
		err = os.RemoveAll(h.dir)
	}
	return errors.Join(err, h.lock.release())
}

// major returns the version of the Postgres that made the data, 0 where there
// is none yet.
func (h *home) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(h.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// password returns the superuser's, which is kept with the data so that a
// database's address stays the same over restarts.
func (h *home) password() (string, error) {
	text, err := os.ReadFile(h.passwordFile())
	return strings.TrimSpace(string(text)), err
}

// initialize makes the data folder where there is none. It's renamed into
// place when complete: a start that was killed leaves nothing half-made.
func (h *home) initialize(ctx context.Context, with installation, unsafe bool) (err error) {
	if major, err := h.major(); err != nil || major != 0 {
		return err
	}
	partial := h.data() + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	if err := h.account.own(partial); err != nil {
		return err
	}
	// initdb reads the password from a file, and so does the next start of
	// ours: a process's arguments are seen by everyone.
	password := rand.Text()
	if err := os.WriteFile(h.passwordFile(), []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	handed := filepath.Join(h.dir, "initdb.password")
	defer func() { err = errors.Join(err, os.Remove(handed)) }()
	if err := os.WriteFile(handed, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := h.account.own(handed); err != nil {
		return err
	}
	if err := h.initdb(ctx, with, partial, handed, unsafe); err != nil {
		return err
	}
	return os.Rename(partial, h.data())
}

func (h *home) initdb(ctx context.Context, with installation, data, passwordFile string, unsafe bool) error {
	args := []string{
		"--pgdata=" + data, "--username=" + superuser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	if unsafe {
		args = append(args, "--no-sync")
	}
	return h.logged(ctx, "initdb", func(log *os.File) error {
		return runProcess(ctx, h.command(log, with.initdb(), args...))
	})
}

// command prepares a process in this home: as the account, with none of our
// variables, some of which change how Postgres behaves (PGPORT, PGOPTIONS).
func (h *home) command(log *os.File, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...) //nolint:noctx // a server outlives the context of its start
	cmd.Dir = h.dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{h.lock.file}
	cmd.SysProcAttr = processAttributes(h.account)
	return cmd
}

// logged runs the function with a fresh log, and turns its failure into the
// line of the log that says why.
func (h *home) logged(ctx context.Context, name string, run func(*os.File) error) (err error) {
	log, err := os.OpenFile(h.log(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	err = run(log)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return &StartError{Command: name, Said: h.complaint(), Cause: err}
	}
	return nil
}

// maxLogTail bounds what is read of a log to find a complaint.
const maxLogTail = 64 << 10

// complaint finds the last line of the log that says what is wrong.
func (h *home) complaint() string {
	file, err := os.Open(h.log())
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	if info, err := file.Stat(); err == nil && info.Size() > maxLogTail {
		if _, err := file.Seek(-maxLogTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	said := ""
	for line := range strings.Lines(string(text)) {
		for _, level := range []string{"FATAL:", "PANIC:", "error:"} {
			if at := strings.Index(line, level); at >= 0 {
				said = strings.Join(strings.Fields(line[at:]), " ")
			}
		}
	}
	return said
}

// clearStalePID removes the file of a server that is gone where its process id
// is another program's by now, as in a container that started anew: Postgres
// would take that program for a server on its data. The home's lock tells that
// none of ours is. Without a /proc the file stays, and Postgres decides.
func (h *home) clearStalePID() error {
	file := filepath.Join(h.data(), "postmaster.pid")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, _, _ := strings.Cut(string(text), "\n")
	// A server works in its data folder.
	works, err := os.Readlink(filepath.Join("/proc", strings.TrimSpace(pid), "cwd"))
	if err != nil || works == h.realData() {
		return nil //nolint:nilerr // gone, another user's or unknown: Postgres can tell those
	}
	return os.Remove(file)
}

// realData is the data folder's path without links.
func (h *home) realData() string {
	path, err := filepath.EvalSymlinks(h.data())
	if err != nil {
		return h.data()
	}
	return path
}
