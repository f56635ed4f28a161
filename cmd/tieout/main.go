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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an end in good order. From then on signals have
	// their default effect again, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)

	return run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
}
