package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"github.com/twmb/franz-go/plugin/kslog"
)

// connectTimeout bounds the first contact with a server: beyond it a person
// wants to hear that nobody answers.
const connectTimeout = 10 * time.Second

// kafkaOptions makes the options that every Kafka client of tieout has: where
// the brokers are and how to log in.
func kafkaOptions(cfg *config, logger *slog.Logger) ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID("tieout"),
		kgo.SoftwareNameAndVersion("tieout", softwareVersion()),
		kgo.DialTimeout(connectTimeout),
		kgo.WithLogger(kslog.New(quietLogger(logger))),
	}
	if cfg.TLS {
		tlsConfig, err := kafkaTLS(cfg)
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(tlsConfig))
	}
	switch cfg.SASLMechanism {
	case saslPlain:
		options = append(options, kgo.SASL(plain.Auth{User: cfg.SASLUsername, Pass: cfg.SASLPassword}.AsMechanism()))
	case saslScramSHA256:
		options = append(options, kgo.SASL(scram.Auth{User: cfg.SASLUsername, Pass: cfg.SASLPassword}.AsSha256Mechanism()))
	case saslScramSHA512:
		options = append(options, kgo.SASL(scram.Auth{User: cfg.SASLUsername, Pass: cfg.SASLPassword}.AsSha512Mechanism()))
	}
	return options, nil
}

// openKafka makes a client that has reached a broker, for a command that ends
// soon: what its library would log comes back as the command's error.
func openKafka(ctx context.Context, cfg *config, logger *slog.Logger) (*kgo.Client, error) {
	if !logger.Enabled(ctx, slog.LevelDebug) {
		logger = slog.New(slog.DiscardHandler)
	}
	options, err := kafkaOptions(cfg, logger)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("set up the Kafka client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, explainKafka(cfg, err)
	}
	return client, nil
}

// explainKafka says of an error of the Kafka client what to look at.
func explainKafka(cfg *config, err error) error {
	var (
		firstEOF  *kgo.ErrFirstReadEOF
		authority x509.UnknownAuthorityError
	)
	brokers := strings.Join(cfg.Brokers, ",")
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Errorf("the broker at %s refuses the user or password: check sasl-mechanism, sasl-username and TIEOUT_SASL_PASSWORD: %w", brokers, err)
	case errors.As(err, &authority):
		return fmt.Errorf("the broker at %s has a certificate of an unknown authority: check tls-ca: %w", brokers, err)
	case errors.As(err, &firstEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the broker at %s closed the connection: check TLS and SASL settings: %w", brokers, err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from the broker at %s: check brokers, and TLS and SASL settings: %w", brokers, err)
	default:
		return fmt.Errorf("no broker reachable at %s: check brokers (TIEOUT_BROKERS) and that Kafka runs: %w", brokers, err)
	}
}

func kafkaTLS(cfg *config) (*tls.Config, error) {
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.TLSCA != "" {
		if err := checkReadable(cfg.TLSCA); err != nil {
			return nil, usagef("tls-ca: %w", err)
		}
		authorities, err := os.ReadFile(cfg.TLSCA)
		if err != nil {
			return nil, usagef("tls-ca: %w", err)
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, usagef("tls-ca: %s holds no certificate in PEM form", cfg.TLSCA)
		}
	}
	if cfg.TLSCert != "" {
		for _, path := range []string{cfg.TLSCert, cfg.TLSKey} {
			if err := checkReadable(path); err != nil {
				return nil, usagef("tls-cert and tls-key: %w", err)
			}
		}
		certificate, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
		if err != nil {
			return nil, usagef("tls-cert and tls-key: %w", err)
		}
		tlsConfig.Certificates = []tls.Certificate{certificate}
	}
	return tlsConfig, nil
}

// softwareVersion is the version in the letters that Kafka's protocol takes.
func softwareVersion() string {
	keep := func(r rune) rune {
		if r == '.' || r == '-' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}
	return strings.Trim(strings.Map(keep, version), ".-")
}
