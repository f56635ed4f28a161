package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/telemetry"
)

func TestHealth_AnswersForAWorker(t *testing.T) {
	ready, why := true, ""
	server, err := telemetry.Serve(t.Context(), telemetry.ServerOptions{
		Address: ":0", Metrics: http.NotFoundHandler(), Ready: func() (bool, string) { return ready, why },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(t.Context())) }()

	got := invoke(t, nil, "health", "--http", server.Address())
	require.Equal(t, invocation{code: exitDone, stdout: "ready\n"}, got)

	ready, why = false, "waiting for Kafka"
	got = invoke(t, nil, "health", "--http", server.Address())
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "tieout: the worker at "+server.Address()+" is not ready: waiting for Kafka\n", got.stderr)
}

func TestHealth_FailsWhereNoWorkerAnswers(t *testing.T) {
	address := closedPort(t)
	got := invoke(t, nil, "health", "--http", address)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "tieout: no worker answers at "+address)

	for _, address := range []string{"not an address", "not an address:1", "nope", ":99999999", ""} {
		require.Equal(t, exitUsage, invoke(t, nil, "health", "--http", address).code, address)
	}
}
