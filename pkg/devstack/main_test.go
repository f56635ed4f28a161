package devstack

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// stackVariable turns the test binary into a program that runs a stack in the
// folder that it names, empty for a temporary one: tests kill it.
const stackVariable = "DEVSTACK_TEST_STACK"

func TestMain(m *testing.M) {
	dir, asProgram := os.LookupEnv(stackVariable)
	if !asProgram {
		Main(m)
		return
	}
	if err := runStack(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this process is the program, not a test
	}
}

func runStack(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stack, err := Start(ctx, Options{DataDir: dir})
	if err != nil {
		return err
	}
	for _, variable := range stack.Environment() {
		fmt.Fprintln(os.Stdout, variable)
	}
	fmt.Fprintln(os.Stdout, "up")
	err = stack.Wait(ctx)
	if closeErr := stack.Close(); closeErr != nil {
		return closeErr
	}
	return err
}
