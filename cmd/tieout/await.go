package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// awaitServer tries until it works, until it's clear that it never will, or
// until it took too long; then the last error is returned. what is the server
// that the log tells of, and mayCome tells an error that may pass. With a
// timeout of 0 it tries once.
func awaitServer(ctx context.Context, logger *slog.Logger, timeout time.Duration, what string, mayCome func(error) bool, try func() error) error {
	if timeout == 0 {
		return try()
	}
	// One line now and then is enough about something that stays away.
	const logEvery = 10 * time.Second
	var logged time.Time
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := try()
		switch {
		case err == nil:
			return struct{}{}, nil
		case !mayCome(err):
			return struct{}{}, backoff.Permanent(err)
		}
		if time.Since(logged) > logEvery {
			logged = time.Now()
			logger.WarnContext(ctx, "waiting for a server", "server", what, "error", err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(timeout), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, Multiplier: 2, MaxInterval: 2 * time.Second, RandomizationFactor: 0.2,
	}))
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) {
		return permanent.Unwrap()
	}
	return err
}
