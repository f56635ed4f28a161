package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tieout/tieout/pkg/devstack"
)

// serverCertificate returns a certificate for the loopback interface, and the
// file of its authority.
func serverCertificate(t *testing.T) (certificate tls.Certificate, authorityFile string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	authorityFile = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(authorityFile, block, 0o600))
	return server.TLS.Certificates[0], authorityFile
}

// openTestKafka opens a client as commands do.
func openTestKafka(t *testing.T, cfg *config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	client, err := openKafka(ctx, cfg, slog.New(slog.DiscardHandler))
	if err == nil {
		client.Close()
	}
	return err
}

func TestKafka_LogsInInEachWayThatCanBeConfigured(t *testing.T) {
	certificate, authority := serverCertificate(t)
	for _, mechanism := range []string{saslPlain, saslScramSHA256, saslScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			kafka := devstack.TestKafka(t,
				kfake.EnableSASL(), kfake.Superuser(mechanism, "worker", "hunter2"),
				kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}),
			)
			cfg := &config{
				Brokers: kafka.Brokers(), TLS: true, TLSCA: authority,
				SASLMechanism: mechanism, SASLUsername: "worker", SASLPassword: "hunter2",
			}
			require.NoError(t, openTestKafka(t, cfg))

			cfg.SASLPassword = "wrong-secret"
			err := openTestKafka(t, cfg)
			require.ErrorContains(t, err, "check ")
			require.NotContains(t, err.Error(), "wrong-secret")
		})
	}
}

func TestKafka_SaysWhatToCheckWhenItCanNotConnect(t *testing.T) {
	certificate, authority := serverCertificate(t)
	plaintext := devstack.TestKafka(t)
	withTLS := devstack.TestKafka(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	withSASL := devstack.TestKafka(t, kfake.EnableSASL(), kfake.Superuser(saslPlain, "worker", "hunter2"))

	for name, c := range map[string]struct {
		cfg  config
		want string
	}{
		"nobody there":         {config{Brokers: []string{closedPort(t)}}, "no broker reachable at 127.0.0.1:"},
		"TLS to plaintext":     {config{Brokers: plaintext.Brokers(), TLS: true, TLSCA: authority}, "TLS and SASL settings"},
		"plaintext to TLS":     {config{Brokers: withTLS.Brokers()}, "check TLS and SASL settings"},
		"no login where asked": {config{Brokers: withSASL.Brokers()}, "check TLS and SASL settings"},
		"unknown authority":    {config{Brokers: withTLS.Brokers(), TLS: true}, "check tls-ca"},
	} {
		t.Run(name, func(t *testing.T) {
			err := openTestKafka(t, &c.cfg)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, exitFailed, exitCode(err))
		})
	}
}

func TestKafka_FilesThatAreNoneAreWrongUsage(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, cfg := range []*config{
		{TLS: true, TLSCA: filepath.Join(dir, "none.pem")},
		{TLS: true, TLSCA: empty},
		{TLS: true, TLSCert: empty, TLSKey: empty},
	} {
		_, err := kafkaOptions(cfg, slog.New(slog.DiscardHandler))
		require.Equal(t, exitUsage, exitCode(err), "%v", err)
	}
}

// To open a pipe would wait for a writer.
func TestFilesOfTheUsers_ThatArePipesOrDevicesAreRefusedAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	require.NoError(t, os.WriteFile("file", nil, 0o600))
	require.NoError(t, os.Symlink("pipe", "link"))
	for _, path := range []string{"pipe", "link", "/dev/zero", "."} {
		for _, cfg := range []*config{
			{TLS: true, TLSCA: path},
			{TLS: true, TLSCert: path, TLSKey: "file"},
			{TLS: true, TLSCert: "file", TLSKey: path},
		} {
			_, err := kafkaOptions(cfg, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, ": "+path+": not a regular file")
			require.Equal(t, exitUsage, exitCode(err))
		}
		for _, address := range []string{"postgres://h/d?sslmode=require&sslrootcert=" + path, "host=h passfile='" + path + "'"} {
			got := invoke(t, []string{"DATABASE_URL=" + address}, "config")
			require.Equal(t, exitUsage, got.code)
			require.Regexp(t, `^tieout: database-url: (sslrootcert|passfile): `+path+`: not a regular file\n$`, got.stderr)
		}
		got := invoke(t, nil, "config", "--config", path)
		require.Equal(t, invocation{exitUsage, "", "tieout: configuration file " + path + ": not a regular file\n"}, got)
		got = invoke(t, nil, "produce", "sales", path, "--dry-run")
		require.Equal(t, invocation{exitFailed, "", "tieout: " + path + ": not a regular file\n"}, got)
		got = invoke(t, nil, "produce", "sales", "file", "--vendors", path, "--dry-run")
		require.Equal(t, invocation{exitFailed, "", "tieout: " + path + ": not a regular file\n"}, got)
	}
}

// closedPort returns an address of this machine at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestQuietLogger_PassesWarningsOnAndTheRestOnlyForDebugging(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out}
	library := quietLogger(a.logger(&config{LogLevel: "info"})).With("library", "kgo").WithGroup("g")
	library.Info("chatter")
	library.Warn("trouble", "broker", 1)
	require.NotContains(t, out.String(), "chatter")
	require.Contains(t, out.String(), "msg=trouble library=kgo g.broker=1")

	out.Reset()
	quietLogger(a.logger(&config{LogLevel: "debug"})).Info("chatter")
	require.Contains(t, out.String(), "chatter")
}

func TestLogger_CanWriteJSON(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out}
	a.logger(&config{LogLevel: "info", LogFormat: formatJSON}).InfoContext(context.Background(), "hello")
	require.Contains(t, out.String(), `"msg":"hello"`)
}
