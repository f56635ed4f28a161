package main

import (
	"net/url"
	"regexp"
	"slices"
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

// holdsPassword tells whether a connection string has a password in it, or may
// have.
func holdsPassword(connection string) bool { return maskURL(connection) != connection }

// maskURL shows a URL, or Postgres' keyword=value pairs, without what is or may
// be secret: the password, and every parameter that isn't known to be harmless.
// Text that is neither is hidden whole: it can't be told what in it is secret.
func maskURL(connection string) string {
	if strings.Contains(connection, "://") {
		return maskWellFormedURL(connection)
	}
	if pairs().MatchString(connection) {
		return maskPairs(connection)
	}
	return masked
}

func maskWellFormedURL(connection string) string {
	parsed, err := url.Parse(connection)
	if err != nil || parsed.Scheme == "" {
		return masked
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	// Where a password has a # or a / in it that isn't escaped, the rest of it
	// looks like another part of the URL.
	if err != nil || parsed.Fragment != "" || strings.Contains(parsed.Path, "@") || parsed.Opaque != "" {
		return masked
	}
	found := false
	for name, values := range query {
		if isHarmless(name) {
			continue
		}
		if slices.Contains(values, "") {
			return masked // the name itself may be the secret
		}
		query.Set(name, masked)
		found = true
	}
	if _, has := parsed.User.Password(); has {
		parsed.User = url.UserPassword(parsed.User.Username(), masked)
		found = true
	}
	if !found {
		return connection
	}
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

func maskPairs(connection string) string {
	return pair().ReplaceAllStringFunc(connection, func(found string) string {
		parts := pair().FindStringSubmatch(found)
		if isHarmless(strings.ToLower(parts[2])) {
			return found
		}
		return parts[1] + parts[2] + parts[3] + masked
	})
}

// isHarmless tells whether a parameter of a connection is known to hold no
// secret.
func isHarmless(parameter string) bool {
	switch parameter {
	case "host", "hostaddr", "port", "dbname", "database", "user",
		"sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "sslnegotiation", "channel_binding",
		"passfile", "service", "servicefile", "krbsrvname", "krbspn", "require_auth", "min_protocol_version", "max_protocol_version",
		"connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
		"target_session_attrs", "load_balance_hosts", "default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
		"application_name", "fallback_application_name", "search_path", "timezone", "client_encoding", "statement_timeout", "lock_timeout":
		return true
	}
	return false
}

// pairSyntax is one keyword=value as libpq reads it: spaces around the sign, the
// value bare or between quotes, and \ before a character that is meant as such.
const pairSyntax = `(?s)(\s*)(\w+)(\s*=\s*)('(?:[^'\\]|\\.)*'|(?:[^'\s\\]|\\.)(?:[^\s\\]|\\.)*|)`

func pair() *regexp.Regexp { return regexp.MustCompile(pairSyntax) }

// pairs matches nothing but pairs, with space between them.
func pairs() *regexp.Regexp {
	return regexp.MustCompile(`^` + pairSyntax + `(?:\s` + pairSyntax + `)*\s*$`)
}
