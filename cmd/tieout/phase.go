package main

import (
	"context"
	"fmt"
	"time"
)

// A phase is one step of a command that takes a while.
type phase struct {
	name  string
	doing string // as a person is told meanwhile
	do    func(context.Context) error
}

// runPhases goes through phases, one after the other, and calls done after
// each. An interrupt ends it, whatever came of the phase that it cut short.
func (a *app) runPhases(ctx context.Context, phases []phase, done func(p phase, took time.Duration)) error {
	defer a.showProgress("")
	for _, p := range phases {
		a.showProgress(p.doing)
		started := time.Now()
		err := p.do(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%s: %w", p.name, err)
		}
		done(p, time.Since(started))
	}
	return nil
}

// showProgress tells a person what is being done, in place of what was; a pipe
// or a file gets nothing.
func (a *app) showProgress(doing string) {
	if !isTerminal(a.stderr) {
		return
	}
	const eraseLine = "\r\x1b[K"
	if doing != "" {
		doing += " ..."
	}
	fmt.Fprint(a.stderr, eraseLine+doing)
}
