package main

import (
	"log/slog"
	"slices"

	"github.com/spf13/pflag"
)

// config is what tieout is told about its surroundings, the same for every
// command. settings describes each member; configload.go fills it.
type config struct {
	DatabaseURL string `koanf:"database-url"`
	Schema      string `koanf:"schema"`
	OwnerRole   string `koanf:"owner-role"`
	WorkerRole  string `koanf:"worker-role"`
	SameVersion string `koanf:"same-version"`

	Brokers     []string `koanf:"brokers"`
	TopicPrefix string   `koanf:"topic-prefix"`
	GroupPrefix string   `koanf:"group-prefix"`

	TLS     bool   `koanf:"tls"`
	TLSCA   string `koanf:"tls-ca"`
	TLSCert string `koanf:"tls-cert"`
	TLSKey  string `koanf:"tls-key"`

	SASLMechanism string `koanf:"sasl-mechanism"`
	SASLUsername  string `koanf:"sasl-username"`
	SASLPassword  string `koanf:"sasl-password"`

	RegistryURL      string `koanf:"registry-url"`
	RegistryUsername string `koanf:"registry-username"`
	RegistryPassword string `koanf:"registry-password"`

	LogLevel  string `koanf:"log-level"`
	LogFormat string `koanf:"log-format"`
	Format    string `koanf:"format"`
}

// Values of settings that are one of a few words.
const (
	formatText = "text"
	formatJSON = "json"
	formatCSV  = "csv" // of commands with csvAnnotation

	sameVersionReject = "reject"
	sameVersionRevise = "revise"

	saslPlain       = "PLAIN"
	saslScramSHA256 = "SCRAM-SHA-256"
	saslScramSHA512 = "SCRAM-SHA-512"
)

// topic returns a topic's name in this installation.
func (c *config) topic(name string) string { return c.TopicPrefix + name }

// slogLevel returns the log level; validate has refused what isn't one.
func (c *config) slogLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return slog.LevelInfo
	}
	return level
}

// settings lists what can be configured, in the order in which it is shown.
func settings() []setting {
	return slices.Concat(databaseSettings(), kafkaSettings(), registrySettings(), outputSettings())
}

func databaseSettings() []setting {
	return []setting{
		{key: "database-url", isURL: true, alias: "DATABASE_URL", usage: "Postgres, as `URL` or as keyword=value pairs"},
		{key: "schema", fallback: "tieout", usage: "database schema `NAME` that holds the ledger"},
		{key: "owner-role", usage: "database role `NAME` that owns the ledger (default: the schema's name and _owner)"},
		{key: "worker-role", usage: "database role `NAME` that workers act as (default: the schema's name and _worker)"},
		{key: "same-version", fallback: sameVersionReject, choices: []string{sameVersionReject, sameVersionRevise}, usage: "what becomes of a posted trade version that comes again with other economics: `reject` it, or revise"},
	}
}

func kafkaSettings() []setting {
	return []setting{
		{key: "brokers", kind: listSetting, usage: "Kafka's bootstrap `HOST:PORT`, several between commas"},
		{key: "topic-prefix", fallback: "", usage: "`TEXT` put before the name of each topic"},
		{key: "group-prefix", fallback: "tieout.", usage: "`TEXT` put before the name of each consumer group"},
		{key: "tls", kind: switchSetting, fallback: false, usage: "speak TLS to Kafka"},
		{key: "tls-ca", usage: "`FILE` of the authorities that signed Kafka's certificate (default: the system's)"},
		{key: "tls-cert", usage: "`FILE` of the client certificate for Kafka"},
		{key: "tls-key", usage: "`FILE` of the client certificate's key"},
		{key: "sasl-mechanism", choices: []string{saslPlain, saslScramSHA256, saslScramSHA512}, usage: "`MECHANISM` of the login to Kafka: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
		{key: "sasl-username", usage: "`USER` to log in to Kafka as"},
		{key: "sasl-password", secret: true, usage: "password to log in to Kafka with"},
	}
}

func registrySettings() []setting {
	return []setting{
		{key: "registry-url", isURL: true, usage: "`URL` of the schema registry (Confluent's API)"},
		{key: "registry-username", usage: "`USER` to log in to the schema registry as"},
		{key: "registry-password", secret: true, usage: "password to log in to the schema registry with"},
	}
}

func outputSettings() []setting {
	return []setting{
		{key: "log-level", fallback: "info", choices: []string{"debug", "info", "warn", "error"}, usage: "least `LEVEL` of log lines: debug, info, warn or error"},
		{key: "log-format", fallback: formatText, choices: []string{formatText, formatJSON}, usage: "`FORMAT` of log lines: text or json"},
		{key: "format", fallback: formatText, choices: []string{formatText, formatJSON, formatCSV}, usage: "`FORMAT` of results: text or json; csv where a command has it"},
	}
}

// addConfigFlags adds a flag for each setting that isn't a secret, and the one
// that names the file.
func addConfigFlags(flags *pflag.FlagSet) {
	flags.String(configFlag, "", "read settings from `FILE` (default: ./"+defaultConfigFile+" if there is one)")
	for _, s := range settings() {
		if s.secret {
			continue
		}
		switch s.kind {
		case switchSetting:
			flags.Bool(s.key, false, s.usage)
		case listSetting, textSetting:
			fallback, _ := s.fallback.(string)
			flags.String(s.key, fallback, s.usage)
		}
	}
}
