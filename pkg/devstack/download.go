package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// What is downloaded: zonky's builds of Postgres, which need nothing else.
const (
	repository      = "https://repo1.maven.org/maven2/io/zonky/test/postgres"
	downloadVersion = "18.4.0"
	downloadMajor   = 18
)

// A build is one artifact, pinned by its content.
type build struct {
	platform string // as the artifact's name has it
	sha256   string
}

// pinnedBuilds are of downloadVersion, by GOOS/GOARCH. It's the newest version
// that has a published checksum for each of them.
func pinnedBuilds() map[string]build {
	return map[string]build{
		"linux/amd64":  {"linux-amd64", "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212"},
		"linux/arm64":  {"linux-arm64v8", "a9ec284923b9a7d2db41509bfb88c3d0eeb9f4aa5e2b29ea0aac5e8dbaf4c335"},
		"darwin/amd64": {"darwin-amd64", "68381ed1488edd337345c6c4bc6ae0c823832a4dd7af8b04656ee5c218c291b5"},
		"darwin/arm64": {"darwin-arm64v8", "ab698c4486a795d2aa8a158b3a41e1201a77e7ff72a6255094cd5900080853c2"},
	}
}

const (
	// maxDownloadBytes bounds the jar: the largest pinned one has 33 MB.
	maxDownloadBytes = 64 << 20
	// downloadTimeout is enough for it at 100 kB a second.
	downloadTimeout = 6 * time.Minute
)

// A download fetches a build once and keeps it in a cache.
type download struct {
	repository string
	platform   string // GOOS/GOARCH
	builds     map[string]build
	cacheDir   string // empty: the user's
	account    *account
	logger     *slog.Logger
}

func newDownload(cacheDir string, account *account, logger *slog.Logger) *download {
	return &download{
		repository: repository,
		platform:   runtime.GOOS + "/" + runtime.GOARCH,
		builds:     pinnedBuilds(),
		cacheDir:   cacheDir,
		account:    account,
		logger:     loggerOrNone(logger),
	}
}

// fetch returns the build for this platform, downloading it where the cache
// hasn't got it. Of concurrent processes one downloads and the others wait.
func (d *download) fetch(ctx context.Context) (found installation, err error) {
	build, ok := d.builds[d.platform]
	if !ok {
		return installation{}, fmt.Errorf("there is none for %s to download", d.platform)
	}
	cache, err := d.openCache()
	if err != nil {
		return installation{}, err
	}
	// The folder is named for its content: another pin is another folder.
	dir := filepath.Join(cache, "postgres-"+downloadVersion+"-"+build.platform+"-"+build.sha256[:12])
	bin := filepath.Join(dir, "bin")
	if _, err := os.Stat(dir); err == nil {
		return inspect(ctx, bin)
	}
	lock, err := awaitLock(ctx, cache)
	if errors.Is(err, errLocked) {
		return installation{}, context.Cause(ctx)
	}
	if err != nil {
		return installation{}, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		err = d.install(ctx, build, cache, dir)
		if err != nil {
			return installation{}, err
		}
	}
	return inspect(ctx, bin)
}

// install downloads, verifies and unpacks a build, under the cache's lock. It
// appears whole or not at all.
func (d *download) install(ctx context.Context, build build, cache, dir string) (err error) {
	// Under one name, so that what a killed process left is taken up.
	partial := filepath.Join(cache, "partial")
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Mkdir(partial, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	d.logger.Info("downloading Postgres", "version", downloadVersion, "into", dir)
	jar := filepath.Join(partial, "postgres.jar")
	if err := d.get(ctx, build, jar); err != nil {
		return err
	}
	unpacked := filepath.Join(partial, "unpacked")
	if err := unpackJar(ctx, jar, unpacked); err != nil {
		return err
	}
	return os.Rename(unpacked, dir)
}

// get downloads the jar of a build and holds it against its checksum.
func (d *download) get(ctx context.Context, build build, into string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout,
		fmt.Errorf("the download of Postgres took more than %v", downloadTimeout))
	defer cancel()
	address := fmt.Sprintf("%[1]s/embedded-postgres-binaries-%[2]s/%[3]s/embedded-postgres-binaries-%[2]s-%[3]s.jar",
		d.repository, build.platform, downloadVersion)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// A client of our own: its connections end here, not with the process.
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("it can't be downloaded: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it can't be downloaded: %s answers %s", address, response.Status)
	}
	sum, err := save(response.Body, into)
	if err != nil {
		return fmt.Errorf("it can't be downloaded: %s: %w", address, err)
	}
	if sum != build.sha256 {
		return &ChecksumError{Address: address, Want: build.sha256, Got: sum}
	}
	return nil
}

// save writes what is read to a file and returns its SHA-256 in hex.
func save(from io.Reader, into string) (string, error) {
	file, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(from, maxDownloadBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if n > maxDownloadBytes {
		return "", fmt.Errorf("it has more than %d bytes", maxDownloadBytes)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// systemCache is root's where the account that Postgres runs as may not enter
// root's own, which is the rule.
const systemCache = "/var/cache/tieout"

// openCache makes the cache's folder.
func (d *download) openCache() (string, error) {
	dir := d.cacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		switch {
		case err == nil && d.account.checkReach(nearestFolder(user)) == nil:
			dir = filepath.Join(user, "tieout")
		case d.account != nil:
			dir = systemCache
		default:
			return "", fmt.Errorf("there is no folder to keep it in: %w", err)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, d.account.checkReach(dir)
}

// nearestFolder returns the path, or the lowest folder above it that is there.
func nearestFolder(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
