package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	variablePrefix    = "TIEOUT_"
	configFlag        = "config"
	defaultConfigFile = "tieout.yaml"

	// keyDelimiter separates nested keys for koanf; tieout's keys are flat.
	keyDelimiter = "."
)

// csvAnnotation marks a command that can write its result as CSV.
const csvAnnotation = "csv"

// config returns the configuration of a command, checked. required names the
// settings that the command can't do without.
func (a *app) config(cmd *cobra.Command, required ...string) (*config, error) {
	effective, err := loadConfig(cmd.Flags(), a.env)
	if err != nil {
		return nil, err
	}
	if effective.Format == formatCSV && cmd.Annotations[csvAnnotation] == "" {
		return nil, usagef("format (%s): %s has no csv, want text or json", effective.origins["format"], cmd.CommandPath())
	}
	for _, key := range required {
		if effective.isSet(key) {
			continue
		}
		s := effective.setting(key)
		return nil, usagef("%s is not set: %s", key, s.explain())
	}
	return &effective.config, nil
}

// An effectiveConfig is a configuration that knows where its values are from.
type effectiveConfig struct {
	config
	values   *koanf.Koanf
	origins  map[string]string
	settings []setting
}

func (e *effectiveConfig) setting(key string) *setting {
	at := slices.IndexFunc(e.settings, func(s setting) bool { return s.key == key })
	return &e.settings[at]
}

func (e *effectiveConfig) isSet(key string) bool {
	if e.setting(key).kind == listSetting {
		return len(e.values.Strings(key)) > 0
	}
	return e.values.String(key) != ""
}

// loadConfig puts the layers on one another: defaults, the file, the
// environment, the flags.
func loadConfig(flags *pflag.FlagSet, environ []string) (*effectiveConfig, error) {
	e := &effectiveConfig{values: koanf.New(keyDelimiter), origins: map[string]string{}, settings: settings()}
	for _, load := range []func() error{
		e.loadDefaults,
		func() error { return e.loadFile(flags, environ) },
		func() error { return e.loadEnvironment(environ) },
		func() error { return e.loadFlags(flags) },
		e.loadDerived,
	} {
		if err := load(); err != nil {
			return nil, &usageError{err}
		}
	}
	if err := e.values.Unmarshal("", &e.config); err != nil {
		return nil, &usageError{fmt.Errorf("configuration: %w", err)}
	}
	if err := e.validate(); err != nil {
		return nil, &usageError{err}
	}
	return e, nil
}

// put sets one value. where names its layer to a person.
func (e *effectiveConfig) put(s *setting, raw any, where string) error {
	value, err := s.parse(raw)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", s.key, where, err)
	}
	if err := e.values.Load(confmap.Provider(map[string]any{s.key: value}, keyDelimiter), nil); err != nil {
		return fmt.Errorf("%s (%s): %w", s.key, where, err)
	}
	e.origins[s.key] = where
	return nil
}

func (e *effectiveConfig) loadDefaults() error {
	for i := range e.settings {
		if s := &e.settings[i]; s.fallback != nil {
			if err := e.put(s, s.fallback, "default"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *effectiveConfig) loadFile(flags *pflag.FlagSet, environ []string) error {
	path, mustExist := configPath(flags, environ)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !mustExist {
		return nil
	}
	if err := checkReadable(path); err != nil {
		return fmt.Errorf("configuration file %w", err)
	}
	layer := koanf.New(keyDelimiter)
	if err := layer.Load(file.Provider(path), yaml.Parser()); err != nil {
		return fmt.Errorf("configuration file %s: %w", path, err)
	}
	for _, key := range layer.Keys() {
		if !slices.ContainsFunc(e.settings, func(s setting) bool { return s.key == key }) {
			return fmt.Errorf("configuration file %s: there is no setting %q: %s`tieout config` lists them all",
				path, key, didYouMean(key[strings.LastIndex(key, keyDelimiter)+1:], e.keys(), ""))
		}
		raw := layer.Get(key)
		if raw == nil {
			continue
		}
		if err := e.put(e.setting(key), raw, path); err != nil {
			return err
		}
	}
	return nil
}

// configPath returns the file to read, and whether the user named it.
func configPath(flags *pflag.FlagSet, environ []string) (path string, named bool) {
	if path, err := flags.GetString(configFlag); err == nil && path != "" {
		return path, true
	}
	if path := lookupEnv(environ, variableOf(configFlag)); path != "" {
		return path, true
	}
	return defaultConfigFile, false
}

func (e *effectiveConfig) loadEnvironment(environ []string) error {
	layer := koanf.New(keyDelimiter)
	provider := env.Provider("", env.Opt{EnvironFunc: func() []string { return environ }})
	if err := layer.Load(provider, nil); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	for variable := range layer.All() {
		if err := e.checkVariable(variable); err != nil {
			return err
		}
	}
	for i := range e.settings {
		s := &e.settings[i]
		for _, variable := range []string{s.alias, s.variable()} {
			// An empty variable counts as none: compose files make such.
			value := layer.String(variable)
			if variable == "" || value == "" {
				continue
			}
			if err := e.put(s, value, variable); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkVariable refuses a variable that is almost a setting's. Others are left
// alone: Kubernetes, for one, makes TIEOUT_PORT for a service called tieout.
func (e *effectiveConfig) checkVariable(variable string) error {
	name, ours := strings.CutPrefix(variable, variablePrefix)
	key := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	known := append(e.keys(), configFlag)
	near, ok := nearest(key, known)
	if !ours || !ok || slices.Contains(known, key) {
		return nil
	}
	return fmt.Errorf("there is no variable %s: did you mean %s?", variable, variableOf(near))
}

func (e *effectiveConfig) loadFlags(flags *pflag.FlagSet) error {
	layer := koanf.New(keyDelimiter)
	if err := layer.Load(posflag.Provider(flags, keyDelimiter, nil), nil); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	for i := range e.settings {
		s := &e.settings[i]
		if s.secret || !layer.Exists(s.key) {
			continue
		}
		where := "--" + s.key
		raw := layer.Get(s.key)
		if text, isText := raw.(string); isText && s.isURL && holdsPassword(text) {
			return fmt.Errorf("%s: %s: set %s instead", where, whyNoArgument(text), s.variable())
		}
		if err := e.put(s, raw, where); err != nil {
			return err
		}
	}
	return nil
}

// whyNoArgument says why an address that is or holds a secret is no argument.
func whyNoArgument(address string) string {
	if maskURL(address) == masked {
		return "neither a URL nor keyword=value pairs, so it may hold a password, and an argument is seen by everyone on this machine"
	}
	return "a password in an argument is seen by everyone on this machine"
}

// loadDerived fills in the defaults that follow from other settings.
func (e *effectiveConfig) loadDerived() error {
	for _, role := range []struct{ key, suffix string }{{"owner-role", "_owner"}, {"worker-role", "_worker"}} {
		if e.isSet(role.key) {
			continue
		}
		if err := e.put(e.setting(role.key), e.values.String("schema")+role.suffix, "follows schema"); err != nil {
			return err
		}
	}
	return nil
}

func (e *effectiveConfig) keys() []string {
	keys := make([]string, len(e.settings))
	for i := range e.settings {
		keys[i] = e.settings[i].key
	}
	return keys
}

// lookupEnv returns the value of a variable; the last entry of a name counts.
func lookupEnv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}
