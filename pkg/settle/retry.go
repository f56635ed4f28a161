package settle

import "time"

// A RetryPolicy says how often a record is tried whose failure may pass, and how
// long it waits in between. A record spends attempts, an outage never does.
type RetryPolicy struct {
	// Attempts is how often a record is tried in all; the first delivery is
	// attempt 1.
	Attempts int
	// First is the wait behind attempt 1. Each later one is twice the one
	// before, up to Max.
	First, Max time.Duration
	// Jitter is added once for each attempt that failed, times a number from 0 to
	// 1, so that records that failed together don't come back together.
	Jitter time.Duration
}

// Delay returns how long a record waits once this attempt has failed, and
// whether it's tried again at all. random is from 0 to 1; the caller draws it.
func (p RetryPolicy) Delay(attempt int, random float64) (delay time.Duration, again bool) {
	if attempt >= p.Attempts {
		return 0, false
	}
	delay = p.First
	for passed := 1; passed < attempt && delay < p.Max; passed++ {
		delay *= 2
	}
	jitter := time.Duration(random * float64(attempt) * float64(p.Jitter))
	return min(delay, p.Max) + jitter, true
}
