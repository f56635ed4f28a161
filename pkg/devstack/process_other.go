//go:build unix && !linux

package devstack

import "syscall"

// processAttributes leave a child in our process group: these systems have no
// signal on the parent's death, so Ctrl-C is to end a server by itself. After
// a SIGKILL of ours it stays until someone stops it.
func processAttributes(a *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: a.credential()}
}
