package devstack

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeServer makes a folder with binaries that say that version.
func fakeServer(t *testing.T, parent, version string) string {
	t.Helper()
	bin := filepath.Join(parent, version, "bin")
	script(t, filepath.Join(bin, "initdb"), "exit 0")
	script(t, filepath.Join(bin, "postgres"), "echo 'postgres (PostgreSQL) "+version+" (Debian)'")
	return bin
}

func script(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	syscall.ForkLock.RLock() // see copyOfThisBinary
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

// homeOf makes a home whose data that major version made, or none for 0.
func homeOf(t *testing.T, major int) *home {
	t.Helper()
	h := &home{dir: t.TempDir()}
	if major != 0 {
		require.NoError(t, os.Mkdir(h.data(), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(h.data(), "PG_VERSION"), []byte(strconv.Itoa(major)+"\n"), 0o600))
	}
	return h
}

func TestFinder_TakesTheNewestServer(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	dir := t.TempDir()
	for _, version := range []string{"9.6.24", "13.22", "14.19", "18.1", "19beta1", "15.18"} {
		fakeServer(t, dir, version)
	}
	f := finder{places: []string{filepath.Join(dir, "*", "bin")}}

	found, err := f.find(t.Context(), homeOf(t, 0))

	require.NoError(t, err)
	require.Equal(t, installation{bin: filepath.Join(dir, "19beta1", "bin"), major: 19}, found)
}

func TestFinder_TakesTheServerThatMadeTheData(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	dir := t.TempDir()
	fakeServer(t, dir, "17.6")
	fifteen := fakeServer(t, dir, "15.18")
	f := finder{places: []string{filepath.Join(dir, "*", "bin")}}

	found, err := f.find(t.Context(), homeOf(t, 15))

	require.NoError(t, err)
	require.Equal(t, fifteen, found.bin)
}

func TestFinder_LooksInPATH(t *testing.T) {
	bin := fakeServer(t, t.TempDir(), "16.10")
	t.Setenv("PATH", bin)
	f := finder{places: []string{filepath.Join(t.TempDir(), "nothing")}}

	found, err := f.find(t.Context(), homeOf(t, 0))

	require.NoError(t, err)
	require.Equal(t, installation{bin: bin, major: 16}, found)
}

func TestFinder_AsksPgConfigWhereTheServerIs(t *testing.T) {
	dir := t.TempDir()
	bin := fakeServer(t, dir, "16.10")
	path := filepath.Join(dir, "commands")
	script(t, filepath.Join(path, "pg_config"), "echo "+bin)
	t.Setenv("PATH", path)
	f := finder{places: []string{filepath.Join(dir, "nothing")}}

	found, err := f.find(t.Context(), homeOf(t, 0))

	require.NoError(t, err)
	require.Equal(t, bin, found.bin)
}

func TestFinder_PassesByWhatIsNoServer(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	dir := t.TempDir()
	script(t, filepath.Join(dir, "client", "bin", "postgres"), "echo 'postgres (PostgreSQL) 16.1'") // and no initdb
	script(t, filepath.Join(dir, "broken", "bin", "initdb"), "exit 0")
	script(t, filepath.Join(dir, "broken", "bin", "postgres"), "exit 1")
	script(t, filepath.Join(dir, "other", "bin", "initdb"), "exit 0")
	script(t, filepath.Join(dir, "other", "bin", "postgres"), "echo another program")
	f := finder{places: []string{filepath.Join(dir, "*", "bin")}}

	_, err := f.find(t.Context(), homeOf(t, 0))

	require.EqualError(t, err, "there is no Postgres here: install 14 or newer, or set DATABASE_URL")
}

func TestFinder_RefusesDataOfAVersionThatIsNotHere(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	dir := t.TempDir()
	fakeServer(t, dir, "17.6")
	f := finder{places: []string{filepath.Join(dir, "*", "bin")}, download: newDownload(t.TempDir(), nil, nil)}

	_, err := f.find(t.Context(), homeOf(t, 16))

	var version *DataVersionError
	require.ErrorAs(t, err, &version)
	require.Equal(t, 16, version.Major)
}
