package devstack

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A process is a child with its end in a channel.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // how it ended; read after exited is closed
}

// startProcess starts the command. Its thread is held until the command ends:
// the kernel takes a thread's end for the parent's death (see Pdeathsig).
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, <-started
}

// runProcess runs the command to its end; the context's end kills it and its
// children, by their process group.
func runProcess(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr.Setpgid = true
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		killErr := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
		if p.err == nil {
			return nil // it was done just then
		}
		return errors.Join(context.Cause(ctx), killErr)
	}
}

// end sends the signal and waits for the process to be gone for at most that
// long. It tells whether it is.
func (p *process) end(signal syscall.Signal, patience time.Duration) bool {
	// A process that is gone already takes no signal, and needs none.
	_ = p.cmd.Process.Signal(signal)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}
