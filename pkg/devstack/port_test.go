package devstack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// takePort listens on a port until the test ends.
func takePort(t *testing.T) int {
	t.Helper()
	taken, err := listen(t.Context(), "a test", 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	port, err := portOf(taken.Addr().String())
	require.NoError(t, err)
	return port
}

func TestListen_TellsThatAPortIsInUse(t *testing.T) {
	port := takePort(t)

	_, err := listen(t.Context(), "Kafka", port)

	require.Equal(t, &PortInUseError{Service: "Kafka", Port: port}, err)
}
