package devstack

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	firstSchema  = `{"type":"record","name":"Line","fields":[{"name":"a","type":"string"}]}`
	secondSchema = `{"type":"record","name":"Line","fields":[{"name":"a","type":"string"},{"name":"b","type":"long","default":0}]}`
)

func startRegistry(t *testing.T, dir string) *Registry {
	t.Helper()
	registry, err := StartRegistry(t.Context(), RegistryOptions{DataDir: dir})
	require.NoError(t, err)
	return registry
}

// call asks a registry over the network, as clients do.
func call(t *testing.T, method, address, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, strings.TrimSpace(string(text))
}

func schemaBody(t *testing.T, schema string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"schema": schema})
	require.NoError(t, err)
	return string(body)
}

// register returns the schema's id.
func register(t *testing.T, registry, subject, schema string) int {
	t.Helper()
	status, answer := call(t, http.MethodPost, registry+"/subjects/"+subject+"/versions", schemaBody(t, schema))
	require.Equal(t, http.StatusOK, status, answer)
	var made struct{ ID int }
	require.NoError(t, json.Unmarshal([]byte(answer), &made))
	return made.ID
}

func get(t *testing.T, address string) string {
	t.Helper()
	status, answer := call(t, http.MethodGet, address, "")
	require.Equal(t, http.StatusOK, status, answer)
	return answer
}

func TestRegistry_KeepsIDsOverRestarts(t *testing.T) {
	dir := t.TempDir()
	registry := startRegistry(t, dir)
	require.Equal(t, 1, register(t, registry.URL(), "deleted-value", secondSchema))
	require.Equal(t, 2, register(t, registry.URL(), "lines-value", firstSchema))
	require.Equal(t, 1, register(t, registry.URL(), "lines-value", secondSchema))
	status, answer := call(t, http.MethodDelete, registry.URL()+"/subjects/deleted-value", "")
	require.Equal(t, http.StatusOK, status, answer)
	status, answer = call(t, http.MethodPut, registry.URL()+"/config/lines-value", `{"compatibility":"BACKWARD_TRANSITIVE"}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.NoError(t, registry.Close())

	registry = startRegistry(t, dir)
	defer func() { require.NoError(t, registry.Close()) }()

	require.JSONEq(t, `["lines-value"]`, get(t, registry.URL()+"/subjects"))
	require.JSONEq(t, `[1,2]`, get(t, registry.URL()+"/subjects/lines-value/versions"))
	require.Contains(t, get(t, registry.URL()+"/subjects/lines-value/versions/1"), `"id":2`)
	require.Contains(t, get(t, registry.URL()+"/subjects/lines-value/versions/2"), `"id":1`)
	var kept struct{ Schema string }
	require.NoError(t, json.Unmarshal([]byte(get(t, registry.URL()+"/schemas/ids/1")), &kept))
	require.JSONEq(t, secondSchema, kept.Schema)
	require.Contains(t, get(t, registry.URL()+"/config/lines-value"), "BACKWARD_TRANSITIVE")
	require.Equal(t, 3, register(t, registry.URL(), "new-value", `"string"`), "an id is never given twice")
}

func TestRegistry_DropsOnlyTheLineThatAKilledProcessWasWriting(t *testing.T) {
	dir := t.TempDir()
	registry := startRegistry(t, dir)
	register(t, registry.URL(), "lines-value", firstSchema)
	require.NoError(t, registry.Close())
	file, err := os.OpenFile(filepath.Join(dir, journalName), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"method":"POST","target":"/subj`)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	for range 2 { // what the second start reads was written after the cut
		registry = startRegistry(t, dir)
		require.Equal(t, 1, register(t, registry.URL(), "lines-value", firstSchema))
		require.Equal(t, 2, register(t, registry.URL(), "lines-value", secondSchema))
		require.NoError(t, registry.Close())
	}
}

func TestRegistry_RefusesAJournalThatGivesOtherIDs(t *testing.T) {
	dir := t.TempDir()
	registry := startRegistry(t, dir)
	register(t, registry.URL(), "lines-value", firstSchema)
	require.NoError(t, registry.Close())
	path := filepath.Join(dir, journalName)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `\"id\":1`, `\"id\":7`, 1)), 0o600))

	_, err = StartRegistry(t.Context(), RegistryOptions{DataDir: dir})

	require.ErrorContains(t, err, "the registry's journal")
}

func TestRegistry_WritesOnlyChangesDown(t *testing.T) {
	dir := t.TempDir()
	registry := startRegistry(t, dir)
	defer func() { require.NoError(t, registry.Close()) }()
	register(t, registry.URL(), "lines-value", firstSchema)
	before, err := os.ReadFile(filepath.Join(dir, journalName))
	require.NoError(t, err)

	for path, body := range map[string]string{
		"/subjects/lines-value":                                 firstSchema,
		"/compatibility/subjects/lines-value/versions/latest":   secondSchema,
		"/compatibility/subjects/lines-value/versions":          secondSchema,
		"/subjects/lines-value/versions?refused=no-such-schema": "no schema",
	} {
		status, answer := call(t, http.MethodPost, registry.URL()+path, schemaBody(t, body))
		require.Equal(t, strings.Contains(path, "refused"), status != http.StatusOK, answer)
	}

	after, err := os.ReadFile(filepath.Join(dir, journalName))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestRegistry_TellsThatItsPortIsInUse(t *testing.T) {
	port := takePort(t)

	_, err := StartRegistry(t.Context(), RegistryOptions{Port: port, DataDir: t.TempDir()})

	var inUse *PortInUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, PortInUseError{Service: "the schema registry", Port: port}, *inUse)
}
