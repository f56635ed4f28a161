package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/term"
)

// print writes a command's result to stdout: value as JSON where the
// configuration asks for it, else what text writes.
func (a *app) print(cfg *config, value any, text func(io.Writer) error) error {
	write := text
	if cfg.Format == formatJSON {
		write = func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			return encoder.Encode(value)
		}
	}
	if err := write(a.stdout); err != nil {
		return fmt.Errorf("write the result: %w", err)
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
