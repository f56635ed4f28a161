package telemetry

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, ready func() (bool, string)) string {
	t.Helper()
	server, err := Serve(t.Context(), ServerOptions{Address: ":0", Metrics: setup(t, Options{}).Metrics(), Ready: ready})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(t.Context())) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return "http://" + server.Address()
}

func ask(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(read)
}

func TestServer_AnswersItsPaths(t *testing.T) {
	ok, why := true, ""
	url := serve(t, func() (bool, string) { return ok, why })

	status, body := ask(t, http.MethodGet, url+PathHealth)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)

	status, body = ask(t, http.MethodGet, url+PathReady)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready\n", body)

	ok, why = false, "recon.validate[2] is paused: Postgres is not reachable"
	status, body = ask(t, http.MethodGet, url+PathReady)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, why+"\n", body)

	status, body = ask(t, http.MethodGet, url+PathMetrics)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "go_goroutines")
}

func TestServer_RefusesWhatItDoesNotAnswer(t *testing.T) {
	url := serve(t, func() (bool, string) { return true, "" })
	status, _ := ask(t, http.MethodPost, url+PathHealth)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	status, _ = ask(t, http.MethodGet, url+"/")
	require.Equal(t, http.StatusNotFound, status)
}

func TestServer_ListensOnLoopbackUnlessAHostIsNamed(t *testing.T) {
	for given, want := range map[string]string{
		":9102":          "127.0.0.1:9102",
		"9102":           "127.0.0.1:9102",
		"localhost:9102": "localhost:9102",
		"0.0.0.0:9102":   "0.0.0.0:9102",
		"[::1]:9102":     "[::1]:9102",
	} {
		address, err := Address(given)
		require.NoError(t, err)
		require.Equal(t, want, address, "given %q", given)
	}
}

func TestServer_RefusesAnAddressThatIsNone(t *testing.T) {
	for _, address := range []string{"", "localhost:", "::1", "http://localhost:9102", "localhost:http:x", "nope", ":99999999", "localhost:65536", ":-1"} {
		_, err := Serve(t.Context(), ServerOptions{Address: address})
		require.Error(t, err, address)
		require.ErrorContains(t, err, "is not HOST:PORT")
	}
}

func TestServer_SaysThatTheAddressIsTaken(t *testing.T) {
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, err = Serve(t.Context(), ServerOptions{Address: taken.Addr().String()})
	require.ErrorContains(t, err, "address already in use")
	require.ErrorContains(t, err, taken.Addr().String())
}
