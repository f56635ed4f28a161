package devstack

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// An account is the user that Postgres runs as instead of root.
type account struct {
	name     string
	uid, gid uint32
}

// unprivilegedAccount returns nil where this process isn't root: then
// Postgres runs as the same user. The first name is there where the system's
// own Postgres is, the second everywhere.
func unprivilegedAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID != nil || errGID != nil {
			continue
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("as root, Postgres needs another user to run as, and there is neither postgres nor nobody")
}

// own gives a file or an empty folder to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// credential is what a process is started with.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// checkReach tells whether the account may enter every folder from the root
// down to path. Folders that others made are never opened up for it.
func (a *account) checkReach(path string) error {
	if a == nil {
		return nil
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.IsDir() && !a.mayEnter(info) {
			return &ClosedFolderError{Dir: dir, Wanted: path, Account: a.name}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a *account) mayEnter(dir os.FileInfo) bool {
	owner, ok := dir.Sys().(*syscall.Stat_t)
	mode := dir.Mode().Perm()
	switch {
	case ok && owner.Uid == a.uid:
		return mode&0o100 != 0
	case ok && owner.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
