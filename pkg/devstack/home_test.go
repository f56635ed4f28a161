package devstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSweep_RemovesOnlyHomesThatNobodyLivesIn(t *testing.T) {
	parent := t.TempDir()
	dirOf := func(name string) string {
		dir := filepath.Join(parent, temporaryHomes+name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
		return dir
	}
	left, livedIn, beingMade := dirOf("left"), dirOf("lived-in"), dirOf("being-made")
	for _, dir := range []string{left, livedIn} {
		lock, err := lockDir(dir)
		require.NoError(t, err)
		if dir == left {
			require.NoError(t, lock.release())
		} else {
			defer func() { require.NoError(t, lock.release()) }()
		}
	}

	sweepHomes(parent)

	require.NoDirExists(t, left)
	require.DirExists(t, livedIn)
	require.DirExists(t, beingMade)
}

func TestLock_IsHeldByOneAtATime(t *testing.T) {
	dir := t.TempDir()
	first, err := lockDir(dir)
	require.NoError(t, err)

	_, err = lockDir(dir)
	require.ErrorIs(t, err, errLocked)

	require.NoError(t, first.release())
	second, err := lockDir(dir)
	require.NoError(t, err)
	require.NoError(t, second.release())
}
