package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNearest_SuggestsWhatIsNearAndNothingElse(t *testing.T) {
	known := []string{"brokers", "schema", "tls", "registry-url"}
	for word, want := range map[string]string{
		"broker": "brokers", "bokers": "brokers", "shema": "schema", "registry_url": "registry-url", "tsl": "", "xyz": "",
	} {
		got, ok := nearest(word, known)
		require.Equal(t, want, got, "nearest to %q", word)
		require.Equal(t, want != "", ok)
	}
}

func TestEditDistance_IsADistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		require.Zero(t, editDistance(a, a))
		require.Equal(t, editDistance(a, b), editDistance(b, a))
		require.LessOrEqual(t, editDistance(a, c), editDistance(a, b)+editDistance(b, c))
		require.LessOrEqual(t, editDistance(a, b), max(len(a), len(b)))
		if a != b {
			require.Positive(t, editDistance(a, b))
		}
	})
}
