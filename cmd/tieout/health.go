package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tieout/tieout/pkg/telemetry"
)

// defaultHTTP is where `health` asks: the port that OpenTelemetry gives to
// Prometheus' exporters.
const defaultHTTP = "127.0.0.1:9464"

func newHealthCommand(a *app) *cobra.Command {
	var (
		address string
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a worker whether it does its work",
		Long: `Ask a worker whether it does its work: exit code 0 if so, else 1 and why not.
The worker has to serve HTTP (tieout run --http ADDR).`,
		Example: `  tieout health
  tieout health --http 127.0.0.1:9465`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := telemetry.Address(address)
			if err != nil {
				return usagef("--http: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			answer, err := askReady(ctx, address)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, answer)
			return err
		},
	}
	cmd.Flags().StringVar(&address, "http", defaultHTTP, "`ADDR` at which the worker serves HTTP")
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for an answer")
	return cmd
}

// askReady returns a worker's answer; that it isn't ready is an error.
func askReady(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+telemetry.PathReady, nil)
	if err != nil {
		return "", usagef("--http %q is not HOST:PORT: %w", address, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("no worker answers at %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }() // it has been read
	const maxAnswerBytes = 4 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", address, err)
	}
	answer := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the worker at %s is not ready: %s", address, answer)
	}
	return answer, nil
}
