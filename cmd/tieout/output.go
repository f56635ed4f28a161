package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"
)

// A resultWriter is stdout, and remembers that something couldn't be written to
// it: whoever printed may have passed over that, as tables and help do.
type resultWriter struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (w *resultWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// complete adds to a command's error that its result isn't there: it failed,
// whatever else it did or found.
func (w *resultWriter) complete(err error) error {
	var (
		found *foundError
		usage *usageError // cobra's own commands tell of the write, and aren't called wrongly
	)
	switch {
	case w.err == nil:
		return err
	case err == nil, errors.As(err, &found), errors.As(err, &usage) && errors.Is(err, w.err):
		return writeError(w.err)
	case errors.Is(err, w.err):
		return err
	default:
		return errors.Join(err, writeError(w.err))
	}
}

// isQuiet tells of a failure that nobody is told: that the reader of the result
// went away, which it did by itself.
func (w *resultWriter) isQuiet(failure error) bool {
	return errors.Is(w.err, syscall.EPIPE) && errors.Is(failure, w.err)
}

func writeError(err error) error { return fmt.Errorf("write the result: %w", err) }

// print writes a command's result to stdout: value as JSON where the
// configuration asks for it, else what text writes. It's written at once when
// it's whole, since tables tell nobody of an error.
func (a *app) print(cfg *config, value any, text func(io.Writer) error) error {
	write := text
	if cfg.Format == formatJSON {
		write = func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(value)
		}
	}
	var result bytes.Buffer
	if err := write(&result); err != nil {
		return writeError(err)
	}
	if _, err := result.WriteTo(a.stdout); err != nil {
		return writeError(err)
	}
	return nil
}

// newTable makes a table in the manner of kcl and rpk: columns under their
// names, no lines around them, so that it can be cut and grepped. The caller
// appends rows and calls Render.
func newTable(w io.Writer, columns ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(table.Row(columns))
	return t
}

// isTerminal tells whether a person watches w: only then is a progress bar
// drawn.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
