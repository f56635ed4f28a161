package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A setting is one thing that can be configured: by the flag --key, the
// variable TIEOUT_KEY, or the key in tieout.yaml.
type setting struct {
	key      string
	usage    string
	kind     settingKind
	fallback any      // string, []string or bool; nil where there is no default
	alias    string   // another environment variable, which counts less
	choices  []string // where the value is one of a few words
	secret   bool     // masked when shown, and no flag: arguments are public
	isURL    bool     // a password inside is masked, and refused in a flag
}

type settingKind int

const (
	textSetting settingKind = iota
	listSetting
	switchSetting
)

// variable is the environment variable of a setting.
func (s *setting) variable() string { return variableOf(s.key) }

func variableOf(key string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// explain says how to give a setting that is missing.
func (s *setting) explain() string {
	if s.secret {
		return fmt.Sprintf("set %s, or write %s in %s", s.variable(), s.key, defaultConfigFile)
	}
	return fmt.Sprintf("set %s, give --%s, or write %s in %s", s.variable(), s.key, s.key, defaultConfigFile)
}

// parse makes a value of the setting's kind. A number or a date where text is
// wanted is refused, not converted: YAML reads 0123 as 83.
func (s *setting) parse(raw any) (any, error) {
	switch s.kind {
	case listSetting:
		return parseList(raw)
	case switchSetting:
		return parseSwitch(raw)
	case textSetting:
		text, ok := raw.(string)
		if !ok {
			return nil, errors.New("not text: write it between quotes")
		}
		return s.choose(text)
	}
	return nil, fmt.Errorf("setting of unknown kind %d", s.kind)
}

// choose keeps a text to the setting's choices, in whatever case it's written.
func (s *setting) choose(text string) (string, error) {
	if len(s.choices) == 0 || text == "" {
		return text, nil
	}
	for _, choice := range s.choices {
		if strings.EqualFold(choice, text) {
			return choice, nil
		}
	}
	return "", fmt.Errorf("%q is none of %s", text, strings.Join(s.choices, ", "))
}

func parseSwitch(raw any) (bool, error) {
	switch value := raw.(type) {
	case bool:
		return value, nil
	case string:
		if on, err := strconv.ParseBool(value); err == nil {
			return on, nil
		}
	}
	return false, errors.New("want true or false")
}

func parseList(raw any) ([]string, error) {
	var parts []string
	switch value := raw.(type) {
	case string:
		parts = strings.Split(value, ",")
	case []string:
		parts = value
	case []any:
		for _, item := range value {
			text, ok := item.(string)
			if !ok {
				return nil, errors.New("a member of the list is not text: write it between quotes")
			}
			parts = append(parts, text)
		}
	default:
		return nil, errors.New("want a list, or text with commas")
	}
	list := make([]string, 0, len(parts))
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list, nil
}
