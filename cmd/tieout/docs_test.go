package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/telemetry"
)

// Documentation is tested: what it shows between ```sh and ``` is run, in the
// order of the text, against one installation. "```sh parse" marks what can't
// be run in a test, since it doesn't end or is a test itself: its commands must
// exist all the same.
const root = "../.."

// A docBlock is one block of commands in the documentation.
type docBlock struct {
	place string // file and line
	run   bool
	lines []string
}

// documents returns the documentation's files, the README first.
func documents(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return append([]string{filepath.Join(root, "README.md")}, paths...)
}

func docBlocks(t *testing.T) []docBlock {
	t.Helper()
	var blocks []docBlock
	for _, path := range documents(t) {
		var open *docBlock
		for i, line := range strings.Split(readFile(t, path), "\n") {
			info, fence := strings.CutPrefix(line, "```")
			switch {
			case fence && open != nil:
				blocks = append(blocks, *open)
				open = nil
			case fence:
				language, marks, _ := strings.Cut(info, " ")
				require.Contains(t, []string{"sh", "text", "yaml", "sql"}, language, "%s:%d: a block in no language that the tests know", path, i+1)
				open = &docBlock{place: fmt.Sprintf("%s-%d", filepath.Base(path), i+1), run: language == "sh" && marks != "parse"}
			case open != nil:
				open.lines = append(open.lines, line)
			}
		}
		require.Nil(t, open, "%s: a block that doesn't end", path)
	}
	return blocks
}

func TestDocs_NameOnlyCommandsThatThereAre(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllString(readFile(t, filepath.Join(root, "Makefile")), -1)
	for _, block := range docBlocks(t) {
		for _, line := range block.lines {
			line, _, _ = strings.Cut(line, " #")
			requireParses(t, line)
			if target, ok := strings.CutPrefix(line, "make "); ok {
				require.Contains(t, targets, strings.TrimSpace(target)+":", block.place)
			}
		}
	}
}

func TestDocs_CommandsThatTheyShowWork(t *testing.T) {
	env := testInstallation(t)
	programs := installPrograms(t)

	var script, files strings.Builder
	for _, block := range docBlocks(t) {
		if !block.run {
			continue
		}
		fmt.Fprintf(&script, "exec sh -eu %s.sh\n", block.place)
		// SQL in the documentation names the schema that there is by default.
		lines := strings.ReplaceAll(strings.Join(block.lines, "\n"), " tieout.", " "+lookupEnv(env, "TIEOUT_SCHEMA")+".")
		fmt.Fprintf(&files, "-- %s.sh --\n%s\n", block.place, lines)
	}
	path := filepath.Join(t.TempDir(), "docs.txtar")
	require.NoError(t, os.WriteFile(path, []byte(script.String()+files.String()), 0o600))

	testscript.Run(t, testscript.Params{
		Files: []string{path},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, env...)
			e.Setenv("DATABASE_URL", lookupEnv(env, "TIEOUT_DATABASE_URL"))
			e.Setenv("PATH", programs+string(os.PathListSeparator)+e.Getenv("PATH"))
			for name, target := range map[string]string{"testdata": filepath.Join(root, "testdata"), "bin": programs} {
				target, err := filepath.Abs(target)
				if err != nil {
					return err
				}
				if err := os.Symlink(target, filepath.Join(e.WorkDir, name)); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func TestDocs_NameOnlyVariablesThatAreRead(t *testing.T) {
	known := []string{variableOf(configFlag)}
	for _, s := range settings() {
		known = append(known, s.variable())
	}
	for _, path := range documents(t) {
		for _, variable := range regexp.MustCompile(`TIEOUT_\w+`).FindAllString(readFile(t, path), -1) {
			require.Contains(t, known, variable, path)
		}
	}
}

func TestDocs_NameOnlyMetricsThatThereAre(t *testing.T) {
	var known []string
	for _, name := range []string{
		telemetry.MetricConsumed, telemetry.MetricRecords, telemetry.MetricStageDuration, telemetry.MetricFenceLosses,
		telemetry.MetricLag, telemetry.MetricLagAge, telemetry.MetricPartitions, telemetry.MetricDeadLetters,
	} {
		known = append(known, strings.ReplaceAll(name, ".", "_"))
	}
	shown := regexp.MustCompile("`((?:tieout|messaging)_\\w+?)(?:_total|_seconds)?`")
	for _, path := range documents(t) {
		for _, match := range shown.FindAllStringSubmatch(readFile(t, path), -1) {
			require.Contains(t, known, match[1], path)
		}
	}
}

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, path := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(readFile(t, path), -1) {
			require.FileExists(t, filepath.Join(filepath.Dir(path), match[1]), path)
		}
	}
}
