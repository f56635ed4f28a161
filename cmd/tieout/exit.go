package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Exit codes are part of the interface: scripts rely on them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong flags, arguments or configuration; nothing was done
	exitFound  = 3 // done, but something was found that a person should look at
)

// A usageError is a mistake in how tieout was called or configured.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes the error of a wrong call. It says what to do instead.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// A foundError ends a command that did its work and found something, such as
// refused lines; it isn't a failure.
type foundError struct{ message string }

func (e *foundError) Error() string { return e.message }

// foundf makes the error of a command that did its work and found something.
func foundf(format string, args ...any) error {
	return &foundError{fmt.Sprintf(format, args...)}
}

// exitCode classes an error.
func exitCode(err error) int {
	var (
		usage *usageError
		found *foundError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &found):
		return exitFound
	default:
		return exitFailed
	}
}

// failures takes apart an error that is several: each gets a line of its own.
// Several that a sentence is about stay within it.
func failures(err error) []error {
	if err == nil {
		return nil
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, one := range several.Unwrap() {
		all = append(all, failures(one)...)
		texts = append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return all
}

// errorLine makes the one line that a person sees of an error.
func errorLine(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
