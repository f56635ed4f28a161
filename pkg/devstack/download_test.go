package devstack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// The pinned build itself: downloaded where the cache hasn't got it, and run.
func TestDownload_TheRealBuildSettlesIn(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, PostgresOptions{Origin: DownloadOnly, CacheDir: os.Getenv(cacheVariable)})

	require.Equal(t, "180004", query(t, server.URL(), "SHOW server_version_num"))
}

// A fakeRepository serves one jar for one platform.
type fakeRepository struct {
	jar      []byte
	requests atomic.Int64
}

func (r *fakeRepository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.requests.Add(1)
	if request.URL.Path != "/embedded-postgres-binaries-test/"+downloadVersion+"/embedded-postgres-binaries-test-"+downloadVersion+".jar" {
		http.NotFound(w, request)
		return
	}
	_, _ = w.Write(r.jar)
}

// download makes one from this repository, which pins what it serves.
func (r *fakeRepository) download(t *testing.T, cache string) *download {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(r.jar)
	return &download{
		repository: server.URL,
		platform:   "test/test",
		builds:     map[string]build{"test/test": {platform: "test", sha256: hex.EncodeToString(sum[:])}},
		cacheDir:   cache,
		logger:     loggerOrNone(nil),
	}
}

type packedFile struct{ name, content, link string }

func serverFiles() []packedFile {
	return []packedFile{
		{name: "bin/initdb", content: "#!/bin/sh\nexit 0\n"},
		{name: "bin/postgres", content: "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n"},
		{name: "lib/libpq.so", link: "libpq.so.5"},
	}
}

// jarOf packs files as the real jars do.
func jarOf(t *testing.T, files ...packedFile) []byte {
	t.Helper()
	var packed, jar bytes.Buffer
	compressed, err := xz.NewWriter(&packed)
	require.NoError(t, err)
	entries := tar.NewWriter(compressed)
	for _, file := range files {
		header := &tar.Header{Name: file.name, Mode: 0o700, Size: int64(len(file.content)), Typeflag: tar.TypeReg}
		if file.link != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, file.link
		}
		require.NoError(t, entries.WriteHeader(header))
		_, err := entries.Write([]byte(file.content))
		require.NoError(t, err)
	}
	require.NoError(t, entries.Close())
	require.NoError(t, compressed.Close())
	archive := zip.NewWriter(&jar)
	entry, err := archive.Create("postgres-test.txz")
	require.NoError(t, err)
	_, err = entry.Write(packed.Bytes())
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return jar.Bytes()
}

func TestDownload_IsMadeOnce(t *testing.T) {
	repository := &fakeRepository{jar: jarOf(t, serverFiles()...)}
	cache := t.TempDir()
	d := repository.download(t, cache)

	var all sync.WaitGroup
	for range 8 { // each flock is of its own file, as those of other processes are
		all.Go(func() {
			found, err := d.fetch(t.Context())
			require.NoError(t, err)
			require.Equal(t, 18, found.major)
		})
	}
	all.Wait()

	require.EqualValues(t, 1, repository.requests.Load())
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	require.Len(t, left, 2, "the lock and the build: %v", left)
}

func TestDownload_IsOpenToTheAccountThatRunsIt(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	repository := &fakeRepository{jar: jarOf(t, serverFiles()...)}

	found, err := repository.download(t, t.TempDir()).fetch(t.Context())

	require.NoError(t, err)
	for _, path := range []string{filepath.Dir(found.bin), found.bin, found.initdb()} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o004, path)
	}
}

func TestDownload_KeepsNothingOfWhatIsNotPinned(t *testing.T) {
	repository := &fakeRepository{jar: jarOf(t, serverFiles()...)}
	cache := t.TempDir()
	d := repository.download(t, cache)
	repository.jar = jarOf(t, packedFile{name: "bin/postgres", content: "#!/bin/sh\necho another\n"})

	_, err := d.fetch(t.Context())

	var checksum *ChecksumError
	require.ErrorAs(t, err, &checksum)
	require.NotContains(t, err.Error(), "\n")
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(cache, lockName)}, left)
}

func TestDownload_WritesNothingOutsideOfItsFolder(t *testing.T) {
	for name, files := range map[string][]packedFile{
		"by a name": {{name: "../escaped", content: "x"}},
		"by a link": {{name: "out", link: ".."}, {name: "out/escaped", content: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			repository := &fakeRepository{jar: jarOf(t, files...)}
			cache := t.TempDir()

			_, err := repository.download(t, cache).fetch(t.Context())

			require.ErrorContains(t, err, "unpacking Postgres")
			require.NoFileExists(t, filepath.Join(cache, "partial", "escaped"))
			require.NoFileExists(t, filepath.Join(cache, "escaped"))
		})
	}
}

func TestDownload_TellsWhyInOneLine(t *testing.T) {
	repository := &fakeRepository{jar: jarOf(t, serverFiles()...)}
	tests := map[string]struct {
		change func(*download)
		says   string
	}{
		"no such build":   {func(d *download) { d.platform = "plan9/386" }, "there is none for plan9/386 to download"},
		"no such version": {func(d *download) { d.repository += "/gone" }, "404 Not Found"},
		"no network":      {func(d *download) { d.repository = "http://127.0.0.1:1" }, "connection refused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := repository.download(t, t.TempDir())
			test.change(d)

			_, err := finder{download: d}.find(t.Context(), homeOf(t, 0))

			var none *NoPostgresError
			require.ErrorAs(t, err, &none)
			require.Contains(t, err.Error(), test.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestDownload_TakesUpAfterAProcessThatWasKilled(t *testing.T) {
	repository := &fakeRepository{jar: jarOf(t, serverFiles()...)}
	cache := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(cache, "partial", "unpacked", "bin"), 0o755))

	found, err := repository.download(t, cache).fetch(t.Context())

	require.NoError(t, err)
	require.Equal(t, 18, found.major)
}
