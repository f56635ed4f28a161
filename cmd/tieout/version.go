package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

// version is stamped by the build: -ldflags "-X main.version=...".
var version = "development"

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print tieout's version",
		Example: `  tieout version
  tieout version --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config(cmd)
			if err != nil {
				return err
			}
			about := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return a.print(cfg, about, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "tieout %s (%s, %s/%s)\n", about.Version, about.Go, about.OS, about.Arch)
				return err
			})
		},
	}
}
