package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Postgres' names are at most 63 bytes long; the schema's leaves room for the
// roles that are named after it.
const (
	maxRoleBytes   = 63
	maxSchemaBytes = maxRoleBytes - len("_worker")
	// A topic's name is at most 249 bytes long; the longest of tieout's own
	// leaves this for the prefix.
	maxPrefixBytes = 200
)

// validate refuses what can't be right, naming the first such setting and the
// way out.
func (c *config) validate() error {
	for _, check := range []func() error{
		func() error { return checkDatabaseFiles(c.DatabaseURL) }, c.validateNames, c.validateBrokers, c.validateTLS, c.validateSASL, c.validateRegistry,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) validateNames() error {
	switch {
	case !isName(c.Schema, maxSchemaBytes):
		return nameError("schema", c.Schema, maxSchemaBytes)
	case !isName(c.OwnerRole, maxRoleBytes):
		return nameError("owner-role", c.OwnerRole, maxRoleBytes)
	case !isName(c.WorkerRole, maxRoleBytes):
		return nameError("worker-role", c.WorkerRole, maxRoleBytes)
	case !isPrefix(c.TopicPrefix):
		return prefixError("topic-prefix", c.TopicPrefix)
	case !isPrefix(c.GroupPrefix):
		return prefixError("group-prefix", c.GroupPrefix)
	case c.OwnerRole == c.WorkerRole:
		return fmt.Errorf("owner-role and worker-role are both %s: a worker that owns the ledger could change it; name two roles", c.OwnerRole)
	}
	return nil
}

func (c *config) validateBrokers() error {
	for _, broker := range c.Brokers {
		_, port, err := net.SplitHostPort(broker)
		if err != nil {
			return fmt.Errorf("brokers: %q is not HOST:PORT", broker)
		}
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return fmt.Errorf("brokers: %q is not HOST:PORT: a port is a number between 1 and %d", broker, math.MaxUint16)
		}
	}
	return nil
}

func (c *config) validateTLS() error {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("tls-cert and tls-key go together: set both or neither")
	}
	if !c.TLS && (c.TLSCA != "" || c.TLSCert != "") {
		return errors.New("tls-ca, tls-cert and tls-key have no effect without tls: set tls to true")
	}
	return nil
}

func (c *config) validateSASL() error {
	switch {
	case c.SASLMechanism == "" && (c.SASLUsername != "" || c.SASLPassword != ""):
		return errors.New("sasl-username and sasl-password have no effect without sasl-mechanism: set it to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	case c.SASLMechanism != "" && (c.SASLUsername == "" || c.SASLPassword == ""):
		return errors.New("sasl-mechanism needs sasl-username and sasl-password (TIEOUT_SASL_PASSWORD)")
	}
	return nil
}

func (c *config) validateRegistry() error {
	if c.RegistryURL == "" {
		return nil
	}
	// Neither the URL nor url.Parse's error is shown: both can hold a password.
	parsed, err := url.Parse(c.RegistryURL)
	switch {
	case err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https"):
		return errors.New("registry-url is not a URL like http://HOST:PORT")
	case parsed.User != nil:
		return errors.New("registry-url holds a user: use registry-username and registry-password (TIEOUT_REGISTRY_PASSWORD) instead")
	}
	return nil
}

// isName keeps names to those that mean the same with and without quotes.
func isName(name string, maxBytes int) bool {
	return regexp.MustCompile(`^[a-z_][a-z0-9_]*$`).MatchString(name) && len(name) <= maxBytes && !strings.HasPrefix(name, "pg_")
}

func nameError(key, name string, maxBytes int) error {
	return fmt.Errorf("%s: %q is not a name of lower-case letters, digits and underscores, at most %d long, without pg_ before it", key, name, maxBytes)
}

func isPrefix(prefix string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9._-]*$`).MatchString(prefix) && len(prefix) <= maxPrefixBytes
}

func prefixError(key, prefix string) error {
	return fmt.Errorf("%s: %q is not made of letters, digits, dots, underscores and hyphens, at most %d", key, prefix, maxPrefixBytes)
}

// explainFlagError says more of a flag that doesn't exist.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return fmt.Errorf("%w: `%s --help` shows how it's called", err, cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	for _, s := range settings() {
		if s.secret && s.key == name {
			return fmt.Errorf("--%s is no flag, since arguments are seen by everyone on this machine: set %s instead", name, s.variable())
		}
	}
	return fmt.Errorf("there is no flag --%s: %s`%s --help` lists them", name, didYouMean(name, names, "--"), cmd.CommandPath())
}
