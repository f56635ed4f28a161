package ledger

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Transactions that others got in the way of are tried again whole, a few times
// and soon: the caller has patience of its own, and a partition that waits
// longer is better seen to wait.
const (
	maxTries  = 5
	retryBase = 20 * time.Millisecond
	retryMax  = 500 * time.Millisecond
)

func newBackOff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = retryBase, retryMax
	return b
}

// retrying tries a whole transaction again as long as it fails for others that
// run at the same time. It returns the last try's own error.
func (l *Ledger) retrying(ctx context.Context, what string, try func() error) error {
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if last = try(); last != nil && !isContention(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(newBackOff()), backoff.WithMaxTries(maxTries), backoff.WithNotify(func(err error, _ time.Duration) {
		l.log.DebugContext(ctx, "tried again", "what", what, "error", err)
	}))
	if err != nil {
		return l.plain(last)
	}
	return nil
}

// untilDone tries again until it succeeds or ctx ends, and returns the last
// try's own error.
func (l *Ledger) untilDone(ctx context.Context, try func() error) error {
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		if ctx.Err() != nil {
			return struct{}{}, backoff.Permanent(ctx.Err())
		}
		last = try()
		return struct{}{}, last
	}, backoff.WithBackOff(newBackOff()), backoff.WithMaxElapsedTime(0))
	if err != nil && last != nil {
		return l.plain(last)
	}
	return err
}
