package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// An app is one invocation of tieout and what it was handed. Commands read
// nothing of the process itself, so that tests run them as users do.
type app struct {
	env    []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// commands lists every command. One is made by a function
// `newXCommand(*app) *cobra.Command` in a file of its name. Its RunE
//   - gets the configuration from a.config(cmd, KEY...), naming the keys that it
//     can't do without, and a logger from a.logger(config);
//   - prints results with a.print, which keeps --format, and everything else
//     on stderr;
//   - returns an error made by usagef (exit code 2), foundf (3) or any other (1).
//
// Short and Example are wanted: a test reads the examples' commands and flags.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		newDemoCommand(a),
		newSetupCommand(a),
		newProduceCommand(a),
		newRunCommand(a),
		newRunsCommand(a),
		newReconcileCommand(a),
		newDevCommand(a),
		newBenchCommand(a),
		newHealthCommand(a),
		newConfigCommand(a),
		newVersionCommand(a),
	}
}

// run is tieout without its process: it executes one command line and returns
// the exit code. env holds NAME=value entries, as os.Environ does.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	results := &resultWriter{to: stdout}
	a := &app{env: env, stdin: stdin, stdout: results, stderr: stderr}
	err := results.complete(a.execute(ctx, args))
	for _, failure := range failures(err) {
		if !results.isQuiet(failure) {
			fmt.Fprintf(stderr, "tieout: %s\n", errorLine(ctx, failure))
		}
	}
	return exitCode(err)
}

func (a *app) execute(ctx context.Context, args []string) error {
	root := a.newRootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)

	// What cobra itself refuses, before a command starts, is wrong usage.
	started := false
	markStarted(root, &started)
	err := root.ExecuteContext(ctx)
	if err != nil && !started {
		return &usageError{err}
	}
	return err
}

func (a *app) newRootCommand() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "tieout",
		Short: "Settle business records from Kafka into a Postgres ledger, exactly once",
		Example: `  tieout setup                                  # tables, topics and subjects
  tieout produce sales claims.csv.gz            # send a file of claim lines
  tieout run --drain                            # settle until nothing is left`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}, a.commands()...)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(explainFlagError)
	addConfigFlags(root.PersistentFlags())
	return root
}

// group makes a command that only holds others: a noun of verbs. Called with
// anything else it says which one was meant.
func group(parent *cobra.Command, children ...*cobra.Command) *cobra.Command {
	parent.AddCommand(children...)
	parent.Args = cobra.ArbitraryArgs
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		names := make([]string, 0, len(children))
		for _, child := range cmd.Commands() {
			names = append(names, child.Name())
		}
		return usagef("there is no command %q: %s`%s --help` lists what there is",
			cmd.CommandPath()+" "+args[0], didYouMean(args[0], names, ""), cmd.CommandPath())
	}
	return parent
}

// markStarted has each command note that it was reached.
func markStarted(cmd *cobra.Command, started *bool) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return inner(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		markStarted(child, started)
	}
}
