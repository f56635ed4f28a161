package settle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRetryPolicy_DoublesUpToItsMaximum(t *testing.T) {
	policy := RetryPolicy{Attempts: 9, First: 2 * time.Second, Max: time.Minute, Jitter: time.Second}
	for attempt, seconds := range []float64{2, 4, 8, 16, 32, 60, 60, 60} {
		least, again := policy.Delay(attempt+1, 0)
		require.True(t, again)
		require.InDelta(t, seconds, least.Seconds(), 0)
		most, _ := policy.Delay(attempt+1, 1)
		require.Equal(t, least+time.Duration(attempt+1)*time.Second, most)
	}
	for _, attempt := range []int{9, 10, 1 << 40} {
		_, again := policy.Delay(attempt, 0)
		require.False(t, again)
	}
}

func TestRetryPolicy_WaitsStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, from int64) time.Duration {
			return time.Duration(rapid.Int64Range(from, 3600).Draw(t, name)) * time.Second
		}
		policy := RetryPolicy{Attempts: rapid.IntRange(1, 1000).Draw(t, "attempts"), First: seconds("first", 1), Jitter: seconds("jitter", 0)}
		policy.Max = policy.First + seconds("more", 0)
		attempt := rapid.IntRange(1, 1001).Draw(t, "attempt")
		delay, again := policy.Delay(attempt, rapid.Float64Range(0, 1).Draw(t, "random"))
		require.Equal(t, attempt < policy.Attempts, again)
		if again {
			require.GreaterOrEqual(t, delay, policy.First)
			require.LessOrEqual(t, delay, policy.Max+time.Duration(attempt)*policy.Jitter)
		}
	})
}

func TestRetryPolicy_ThatIsNoneTriesOnce(t *testing.T) {
	_, again := RetryPolicy{}.Delay(1, 0)
	require.False(t, again)
}
