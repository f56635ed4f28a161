package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newConfigCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect, and where each value is from",
		Long: `Print the configuration in effect, and where each value is from.

A flag counts most, then the environment (TIEOUT_ and the setting's name in
capitals, so TIEOUT_BROKERS; DATABASE_URL is read as well), then tieout.yaml,
then the default. Secrets are masked. They can't be given as flags, because a
process' arguments are seen by everyone on its machine.`,
		Example: `  tieout config
  TIEOUT_BROKERS=localhost:9092 tieout config --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			effective, err := loadConfig(cmd.Flags(), a.env)
			if err != nil {
				return err
			}
			return a.printConfig(effective)
		},
	}
}

// A shownSetting is one line of `tieout config`.
type shownSetting struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Origin   string `json:"origin"` // empty where nothing set it
	Variable string `json:"variable"`
}

func (a *app) printConfig(effective *effectiveConfig) error {
	shown := effective.shown()
	return a.print(&effective.config, shown, func(w io.Writer) error {
		t := newTable(w, "SETTING", "VALUE", "FROM")
		for _, s := range shown {
			origin := s.Origin
			if origin == "" {
				origin = "not set (" + s.Variable + ")"
			}
			t.AppendRow([]any{s.Key, s.Value, origin})
		}
		t.Render()
		return nil
	})
}

func (e *effectiveConfig) shown() []shownSetting {
	shown := make([]shownSetting, 0, len(e.settings))
	for i := range e.settings {
		s := &e.settings[i]
		value := e.values.String(s.key)
		if s.kind == listSetting {
			value = strings.Join(e.values.Strings(s.key), ",")
		}
		shown = append(shown, shownSetting{s.key, s.mask(value), e.origins[s.key], s.variable()})
	}
	return shown
}
