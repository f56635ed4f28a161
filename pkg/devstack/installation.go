package devstack

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest Postgres that tieout supports.
const oldestMajor = 14

// An installation is a folder with the binaries of a Postgres server.
type installation struct {
	bin   string // the folder that holds initdb and postgres
	major int
}

func (i installation) initdb() string   { return filepath.Join(i.bin, "initdb") }
func (i installation) postgres() string { return filepath.Join(i.bin, "postgres") }

// usualPlaces are where packages put the server's binaries, beside PATH:
// Debian's leave them out of it on purpose, and Homebrew's versions are
// linked one at a time.
func usualPlaces() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// A finder finds the binaries to run.
type finder struct {
	places   []string  // patterns of folders, beside what PATH holds; nil: not here
	download *download // nil: not from elsewhere
}

// newFinder makes one that looks only where the options allow.
func newFinder(opts PostgresOptions, account *account) finder {
	var f finder
	if opts.Origin != DownloadOnly {
		f.places = usualPlaces()
	}
	if opts.Origin != MachineOnly {
		f.download = newDownload(opts.CacheDir, account, opts.Logger)
	}
	return f
}

// find returns the newest binaries of this machine, else downloads some. Where
// there is data already, only its own major version will do.
func (f finder) find(ctx context.Context, home *home) (installation, error) {
	found, err := f.search(ctx, home)
	if ctx.Err() != nil {
		// Binaries that were stopped half-way say nothing about themselves.
		return installation{}, context.Cause(ctx)
	}
	return found, err
}

func (f finder) search(ctx context.Context, home *home) (installation, error) {
	major, err := home.major()
	if err != nil {
		return installation{}, err
	}
	fits := func(i installation) bool { return major == 0 || i.major == major }
	found := f.onMachine(ctx)
	if at := slices.IndexFunc(found, fits); at >= 0 {
		return found[at], nil
	}
	switch {
	case ctx.Err() != nil:
		return installation{}, context.Cause(ctx)
	case f.download != nil && (major == 0 || major == downloadMajor):
		one, err := f.download.fetch(ctx)
		if err != nil {
			return installation{}, &NoPostgresError{Cause: err}
		}
		return one, nil
	case major != 0:
		return installation{}, &DataVersionError{Dir: home.dir, Major: major}
	default:
		return installation{}, &NoPostgresError{}
	}
}

// onMachine finds the supported ones on this machine, the newest first, in the
// order of the places where they're of the same version.
func (f finder) onMachine(ctx context.Context) []installation {
	var found []installation
	seen := make(map[string]bool)
	for _, bin := range f.folders(ctx) {
		if seen[bin] {
			continue
		}
		seen[bin] = true
		one, err := inspect(ctx, bin)
		if err != nil || one.major < oldestMajor {
			continue // not a server's folder, or one too old for us
		}
		found = append(found, one)
	}
	slices.SortStableFunc(found, func(a, b installation) int { return cmp.Compare(b.major, a.major) })
	return found
}

func (f finder) folders(ctx context.Context) []string {
	if f.places == nil {
		return nil
	}
	var folders []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(initdb))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	for _, place := range f.places {
		// The patterns are constants, and Glob fails on nothing else.
		matches, _ := filepath.Glob(place)
		folders = append(folders, matches...)
	}
	return folders
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect asks the binaries in a folder for their version.
func inspect(ctx context.Context, bin string) (installation, error) {
	one := installation{bin: bin}
	for _, binary := range []string{one.initdb(), one.postgres()} {
		if _, err := os.Stat(binary); err != nil {
			return one, err
		}
	}
	out, err := exec.CommandContext(ctx, one.postgres(), "--version").Output()
	if err != nil {
		return one, fmt.Errorf("%s doesn't run here: %w", one.postgres(), err)
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return one, fmt.Errorf("%s isn't a Postgres server: it says %q", one.postgres(), out)
	}
	one.major, err = strconv.Atoi(string(match[1]))
	return one, err
}
