package codec

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/tieout/tieout/schemas"
)

// newRegistry makes a client that is closed with the test.
func newRegistry(t *testing.T, opts RegistryOptions) *Registry {
	t.Helper()
	r, err := NewRegistry(opts)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// fakeRegistry starts a registry and makes a client of it.
func fakeRegistry(t *testing.T, opts ...srfake.Option) (*srfake.Registry, *Registry) {
	t.Helper()
	fake := srfake.New(opts...)
	t.Cleanup(fake.Close)
	return fake, newRegistry(t, RegistryOptions{URL: fake.URL()})
}

// answering starts a server that answers everything alike.
func answering(t *testing.T, status int, body string) *Registry {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may have hung up
	}))
	t.Cleanup(server.Close)
	return newRegistry(t, RegistryOptions{URL: server.URL})
}

// requireOutage takes an error that is the registry's and fit to be shown.
func requireOutage(t *testing.T, err error, contains ...string) *RegistryError {
	t.Helper()
	var outage *RegistryError
	require.ErrorAs(t, err, &outage)
	require.NotErrorIs(t, err, ErrUnknownSchema)
	require.Contains(t, err.Error(), outage.URL)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 400)
	for _, part := range contains {
		require.Contains(t, err.Error(), part)
	}
	return outage
}

func TestASchemaComesByItsID(t *testing.T) {
	fake, registry := fakeRegistry(t)
	fake.SeedSchema("recon.validate-value", 1, 42, sr.Schema{Schema: schemas.SalesEnvelope})
	text, err := registry.Schema(t.Context(), 42)
	require.NoError(t, err)
	require.Equal(t, schemas.SalesEnvelope, text)
}

func TestAnIDThatTheRegistryLacksIsUnknown(t *testing.T) {
	_, registry := fakeRegistry(t)
	_, err := registry.Schema(t.Context(), 7)
	require.ErrorIs(t, err, ErrUnknownSchema)
	require.EqualError(t, err, "schema 7: the registry has no such schema")
	var outage *RegistryError
	require.NotErrorAs(t, err, &outage)
}

func TestA404ThatIsNotARegistrysConvictsNoRecord(t *testing.T) {
	for name, body := range map[string]string{
		"a web server's": "<html>\n<h1>404 Not Found</h1>\n</html>",
		"nothing":        "",
		"another API's":  `{"status": 404, "error": "Not Found"}`,
		"another code":   `{"error_code": 50001, "message": "no"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := answering(t, http.StatusNotFound, body).Schema(t.Context(), 7)
			require.Equal(t, http.StatusNotFound, requireOutage(t, err, "schema 7: answered 404").Status)
		})
	}
}

func TestWhatIsRegisteredButNotOneAvroSchemaIsRefused(t *testing.T) {
	fake, registry := fakeRegistry(t)
	fake.SeedSchema("proto", 1, 1, sr.Schema{Schema: `syntax = "proto3";`, Type: sr.TypeProtobuf})
	fake.SeedSchema("refers", 1, 2, sr.Schema{Schema: `"int"`, References: []sr.SchemaReference{{Name: "a", Subject: "proto", Version: 1}}})
	fake.SeedSchema("long", 1, 3, sr.Schema{Schema: `{"type": "record", "doc": "` + strings.Repeat("x", maxAnswerBytes) + `"}`})
	for id, why := range map[int]string{1: "its type is PROTOBUF, not AVRO", 2: "refers to schemas of other subjects", 3: "longer than"} {
		_, err := registry.Schema(t.Context(), id)
		var refusal *RefusedSchemaError
		require.ErrorAs(t, err, &refusal, "schema %d", id)
		require.Equal(t, id, refusal.ID)
		require.Contains(t, refusal.Why, why)
	}
}

func TestBasicAuthenticationIsSentAndItsRefusalSaysSo(t *testing.T) {
	fake := srfake.New(srfake.WithAuth("Basic YWxpY2U6czNjcmV0")) // alice:s3cret
	t.Cleanup(fake.Close)
	fake.SeedSchema("s", 1, 1, sr.Schema{Schema: `"int"`})

	right := newRegistry(t, RegistryOptions{URL: fake.URL(), Username: "alice", Password: "s3cret"})
	_, err := right.Schema(t.Context(), 1)
	require.NoError(t, err)

	for status, opts := range map[int]RegistryOptions{
		http.StatusUnauthorized: {URL: fake.URL()},
		http.StatusForbidden:    {URL: fake.URL(), Username: "alice", Password: "wr0ng"},
	} {
		_, err = newRegistry(t, opts).Schema(t.Context(), 1)
		outage := requireOutage(t, err, "check the registry's user name and password")
		require.Equal(t, status, outage.Status)
		require.NotContains(t, err.Error(), "wr0ng")
	}
}

func TestAServersErrorIsAnOutageInOneLine(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		_, err := answering(t, status, `{"error_code": 50001, "message": "store\n\tdown `+strings.Repeat("very ", 100)+`"}`).Schema(t.Context(), 7)
		require.Equal(t, status, requireOutage(t, err, "store down very").Status)
	}
}

func TestAnAnswerThatIsNotARegistrysIsAnOutage(t *testing.T) {
	_, err := answering(t, http.StatusOK, "<html>log in</html>").Schema(t.Context(), 7)
	requireOutage(t, err, "schema 7")
	_, err = answering(t, http.StatusBadGateway, strings.Repeat("x", maxAnswerBytes+1)).Schema(t.Context(), 7)
	requireOutage(t, err, "longer than")
}

func TestAnUnreachableRegistryIsAnOutage(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newRegistry(t, RegistryOptions{URL: server.URL}).Schema(t.Context(), 7)
	requireOutage(t, err, "schema 7", "connection refused")
	_, err = newRegistry(t, RegistryOptions{URL: "http://registry.invalid:8081"}).Schema(t.Context(), 7)
	requireOutage(t, err, "http://registry.invalid:8081")
}

func TestASlowRegistryIsAnOutageAfterTheTimeOut(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter){
		"before the answer": func(http.ResponseWriter) {},
		"in its middle":     func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"schema": "`)); w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w); <-done }))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(done) })
			registry := newRegistry(t, RegistryOptions{URL: server.URL, Timeout: 50 * time.Millisecond})
			_, err := registry.Schema(t.Context(), 7)
			requireOutage(t, err, "no answer within 50ms")
		})
	}
}

func TestWhatTheCallerEndsIsNamedAsSuch(t *testing.T) {
	_, registry := fakeRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := registry.Schema(ctx, 7)
	require.ErrorIs(t, err, context.Canceled)
	requireOutage(t, err, "given up: context canceled")
}

func TestACertificateAuthorityOfOnesOwnComesByTheHTTPClient(t *testing.T) {
	fake := srfake.NewRegistry()
	fake.SeedSchema("s", 1, 1, sr.Schema{Schema: `"int"`})
	server := httptest.NewUnstartedServer(fake.Handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log the handshake that fails
	server.StartTLS()
	t.Cleanup(server.Close)

	_, err := newRegistry(t, RegistryOptions{URL: server.URL}).Schema(t.Context(), 1)
	requireOutage(t, err, "certificate")

	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}}
	_, err = newRegistry(t, RegistryOptions{URL: server.URL, HTTPClient: client}).Schema(t.Context(), 1)
	require.NoError(t, err)
}

func TestRegistryOptionsThatCannotBeAreRefusedWithoutTheirSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		opts RegistryOptions
		says string
	}{
		"no URL":           {RegistryOptions{}, "want http://HOST"},
		"no scheme":        {RegistryOptions{URL: "registry:8081"}, "want http://HOST"},
		"no host":          {RegistryOptions{URL: "http://"}, "want http://HOST"},
		"another scheme":   {RegistryOptions{URL: "ftp://registry"}, "want http://HOST"},
		"credentials":      {RegistryOptions{URL: "http://alice:s3cret@registry"}, "holds credentials"},
		"bad credentials":  {RegistryOptions{URL: "http://alice:s3cret%zz@registry"}, "isn't one"},
		"a query":          {RegistryOptions{URL: "http://registry?token=s3cret"}, "behind its path"},
		"password alone":   {RegistryOptions{URL: "http://registry", Password: "s3cret"}, "no user name"},
		"negative timeout": {RegistryOptions{URL: "http://registry", Timeout: -1}, "time-out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRegistry(c.opts)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestLookupFindsWhatIsRegisteredAndNothingElse(t *testing.T) {
	fake, registry := fakeRegistry(t)
	_, err := registry.Lookup(t.Context(), "recon.validate-value", schemas.SalesEnvelope)
	require.ErrorIs(t, err, ErrNotRegistered)
	fake.SeedSchema("recon.validate-value", 1, 42, sr.Schema{Schema: schemas.SalesEnvelope})
	id, err := registry.Lookup(t.Context(), "recon.validate-value", schemas.SalesEnvelope)
	require.NoError(t, err)
	require.Equal(t, 42, id)
	_, err = registry.Lookup(t.Context(), "recon.validate-value", schemas.Outcome)
	require.ErrorIs(t, err, ErrNotRegistered)
	_, err = answering(t, http.StatusInternalServerError, "").Lookup(t.Context(), "recon.validate-value", schemas.Outcome)
	requireOutage(t, err, "subject recon.validate-value")
}
