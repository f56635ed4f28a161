package devstack

import "syscall"

// processAttributes put a child into a process group of its own, so that
// Ctrl-C on the terminal reaches only us, and let the kernel stop it when the
// thread that started it is gone. Postgres takes SIGINT as a fast shutdown.
func processAttributes(a *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid:    true,
		Pdeathsig:  syscall.SIGINT,
		Credential: a.credential(),
	}
}
