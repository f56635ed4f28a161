// Command tieout settles records from Kafka into an append-only Postgres
// ledger, exactly once. This package is flags and wiring only; each command is
// a file named for it, and app.go says how one plugs in.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(mainExitCode())
}

func mainExitCode() int {
	ctx, stop := signal.NotifyContext(hangUpContext(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an end in good order. From then on signals have
	// their default effect again, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)

	// A reader that went away (`tieout dev | head -2`) is an error of the write,
	// and not the end of the process: what was made has to be taken away again.
	// The signal is received, not ignored, since programs that are started from
	// here would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	return run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
}

// hangUpContext ends when the terminal is closed, which asks for an end in good
// order too. It's told more than once then, by the shell and by the system, so
// that here the second time means nothing. Where the signal is ignored, as by
// nohup, it stays so.
func hangUpContext() context.Context {
	if signal.Ignored(syscall.SIGHUP) {
		return context.Background()
	}
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGHUP) // received until the process ends
	return ctx
}
