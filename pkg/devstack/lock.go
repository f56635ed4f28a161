package devstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const lockName = "lock"

// errLocked says that another process holds a lock.
var errLocked = errors.New("locked")

// A dirLock is held on a folder by this process and by every process that
// inherits its file: it's free when the last of them is gone, however it went.
type dirLock struct {
	file *os.File
}

// lockDir takes the folder's lock or returns errLocked. The folder is there.
func lockDir(dir string) (*dirLock, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && !stillAt(file) {
		err = errLocked // swept away between opening and locking
	}
	if err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, errors.Join(err, file.Close())
	}
	return &dirLock{file: file}, nil
}

// lockRetryEvery is short against what is waited for: a Postgres that shuts
// down, or a download by another process.
const lockRetryEvery = 50 * time.Millisecond

// awaitLock takes the folder's lock, waiting for it until the context ends.
func awaitLock(ctx context.Context, dir string) (*dirLock, error) {
	for {
		lock, err := lockDir(dir)
		if !errors.Is(err, errLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, errLocked
		case <-time.After(lockRetryEvery):
		}
	}
}

// stillAt tells whether the open file is the one that its path names.
func stillAt(file *os.File) bool {
	opened, errOpened := file.Stat()
	named, errNamed := os.Stat(file.Name())
	return errOpened == nil && errNamed == nil && os.SameFile(opened, named)
}

// release gives this process's hold up. No lock needs none.
func (l *dirLock) release() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
