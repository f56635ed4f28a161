package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestRun_WithoutACommandShowsHelp(t *testing.T) {
	got := invoke(t, nil)
	require.Equal(t, exitDone, got.code)
	require.Contains(t, got.stdout, "Usage:")
	require.Empty(t, got.stderr)
}

func TestRun_WrongUsageIsOneLineThatSaysWhatToDo(t *testing.T) {
	for line, want := range map[string]string{
		"confg":                     "tieout: there is no command \"tieout confg\": did you mean \"config\"? `tieout --help` lists what there is\n",
		"xyzzy":                     "tieout: there is no command \"tieout xyzzy\": `tieout --help` lists what there is\n",
		"config --broker x":         "tieout: there is no flag --broker: did you mean \"--brokers\"? `tieout config --help` lists them\n",
		"config --sasl-password x":  "tieout: --sasl-password is no flag, since arguments are seen by everyone on this machine: set TIEOUT_SASL_PASSWORD instead\n",
		"version extra":             "tieout: unknown command \"extra\" for \"tieout version\"\n",
		"config --format xml":       "tieout: format (--format): \"xml\" is none of text, json, csv\n",
		"setup --format csv":        "tieout: format (--format): tieout setup has no csv, want text or json\n",
		"config --config none.yaml": "tieout: configuration file none.yaml: open none.yaml: no such file or directory\n",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			got := invoke(t, nil, strings.Fields(line)...)
			require.Equal(t, exitUsage, got.code)
			require.Empty(t, got.stdout)
			require.Equal(t, want, got.stderr)
		})
	}
}

func TestRun_AnErrorOfManyLinesIsShownAsOne(t *testing.T) {
	require.Equal(t, "first; more", errorLine(t.Context(), errors.New("first\n\tmore")))
}

func TestRun_SeveralErrorsAreALineEach(t *testing.T) {
	first, second, third := errors.New("first\n\tmore"), errors.New("second"), errors.New("third")
	sentence := fmt.Errorf("of %w and %w", second, third)
	require.Equal(t, []error{first, second, sentence}, failures(errors.Join(first, errors.Join(second, sentence))))
	require.Empty(t, failures(nil))
}

// failing is a stdout that can't be written to.
type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestRun_AResultThatCanNotBeWrittenIsAFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"config", "config --format json", "version", "", "--help", "completion bash"} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(line), nil, strings.NewReader(""), failing{syscall.ENOSPC}, &stderr)
		require.Equal(t, exitFailed, code, line)
		require.Equal(t, "tieout: write the result: no space left on device\n", stderr.String(), line)
	}
}

func TestRun_AReaderThatWentAwayIsAFailureWithoutWords(t *testing.T) {
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"config"}, nil, strings.NewReader(""), failing{syscall.EPIPE}, &stderr)
	require.Equal(t, exitFailed, code)
	require.Empty(t, stderr.String())
}

func TestRun_WhatWasFoundDoesNotHideThatNobodyCouldReadIt(t *testing.T) {
	results := &resultWriter{err: syscall.ENOSPC}
	require.Equal(t, exitFailed, exitCode(results.complete(foundf("3 lines refused"))))
	require.EqualError(t, results.complete(errors.New("no broker")), "no broker\nwrite the result: no space left on device")
	written := writeError(syscall.ENOSPC)
	require.Equal(t, written, results.complete(written), "told once")
}

func TestRun_AnInterruptIsNoFailureOfAnythingElse(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, "interrupted", errorLine(ctx, context.Canceled))
}

func TestExitCode_FollowsTheClassOfTheError(t *testing.T) {
	require.Equal(t, exitDone, exitCode(nil))
	require.Equal(t, exitFailed, exitCode(errors.New("no broker")))
	require.Equal(t, exitUsage, exitCode(usagef("no such lane")))
	require.Equal(t, exitFound, exitCode(foundf("%d lines were refused", 3)))
}

func TestVersion_IsShownInBothFormats(t *testing.T) {
	require.Regexp(t, `^tieout \S+ \(go\S+, \w+/\w+\)\n$`, invoke(t, nil, "version").stdout)
	require.Contains(t, invoke(t, nil, "version", "--format", "json").stdout, `"version": "`)
}

func TestCompletion_KnowsTheCommands(t *testing.T) {
	got := invoke(t, nil, "__complete", "")
	require.Contains(t, got.stdout, "config\tPrint the configuration in effect")
	require.Equal(t, exitDone, invoke(t, nil, "completion", "bash").code)
}

// eachCommand calls check for tieout and every command below it.
func eachCommand(t *testing.T, check func(t *testing.T, cmd *cobra.Command)) {
	t.Helper()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) { check(t, cmd) })
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(newTestRoot())
}

func newTestRoot() *cobra.Command {
	var discarded bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &discarded, stderr: &discarded}
	return a.newRootCommand()
}

func TestCommands_EachHasAHelpWithExamplesThatParse(t *testing.T) {
	eachCommand(t, func(t *testing.T, cmd *cobra.Command) {
		require.NotEmpty(t, cmd.Short, "no line that says what it does")
		require.NotEmpty(t, cmd.Example, "no example")
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, " #")
			for command := range strings.SplitSeq(line, "|") {
				requireParses(t, command)
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			require.NotEmpty(t, flag.Usage, "--%s isn't explained", flag.Name)
		})
	})
}

// requireParses makes sure that a line as a user types it names a command and
// flags that there are. What isn't tieout's is left alone.
func requireParses(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "$") {
		words = words[1:]
	}
	if len(words) == 0 || (words[0] != "tieout" && words[0] != "bin/tieout" && words[0] != "/tieout") {
		return
	}
	words = words[1:]
	for i, word := range words {
		if strings.ContainsAny(word, "<>&;") { // the shell's, and what follows them
			words = words[:i]
			break
		}
	}
	root := newTestRoot()
	cmd, rest, err := root.Find(words)
	require.NoError(t, err, line)
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		require.NotEqual(t, root.Name(), cmd.Name(), "there is no such command: %s", line)
	}
	require.NoError(t, cmd.ParseFlags(rest), line)
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
}
