package main

import (
	"net/url"
	"regexp"
	"strings"
)

// masked stands where a secret was.
const masked = "xxxxx"

// mask returns a setting's value as it may be shown.
func (s *setting) mask(value string) string {
	switch {
	case value == "":
		return ""
	case s.secret:
		return masked
	case s.isURL:
		return maskURL(value)
	}
	return value
}

// holdsPassword tells whether a connection string has a password in it.
func holdsPassword(connection string) bool { return maskURL(connection) != connection }

// maskURL hides passwords in a URL, or in Postgres' keyword=value pairs. Text
// that is neither is hidden whole: it can't be told what in it is secret.
func maskURL(connection string) string {
	if !strings.Contains(connection, "://") {
		return passwordPair().ReplaceAllString(connection, "${1}"+masked)
	}
	parsed, err := url.Parse(connection)
	if err != nil {
		return masked
	}
	if _, has := parsed.User.Password(); has {
		parsed.User = url.UserPassword(parsed.User.Username(), masked)
	} else if !strings.Contains(parsed.RawQuery, "password") {
		return connection
	}
	query := parsed.Query()
	for name := range query {
		if strings.Contains(name, "password") {
			query.Set(name, masked)
		}
	}
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// passwordPair matches password=value and sslpassword=value, the value bare or
// between quotes.
func passwordPair() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:^|\s)\w*password\s*=\s*)('(?:[^'\\]|\\.)*'?|\S*)`)
}
