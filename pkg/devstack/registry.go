package devstack

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// RegistryOptions are those of StartRegistry; the zero value is a registry in
// memory on a free port.
type RegistryOptions struct {
	// DataDir keeps subjects, versions and ids over restarts. Empty: in memory.
	DataDir string
	// Port on 127.0.0.1; 0 takes a free one.
	Port int
}

// Validate says what is wrong with the options.
func (o RegistryOptions) Validate() error {
	return validatePort("the schema registry", o.Port)
}

// Registry is a fake schema registry in this process. It takes every schema
// for compatible with every other: tieout's own checks stand beside a real
// registry's for that reason too.
type Registry struct {
	Fake *srfake.Registry // what tests seed and intercept by

	server  *http.Server
	journal *journal // nil: in memory
	served  chan error
	url     string
}

// headerTimeout ends connections that never say what they want.
const headerTimeout = 10 * time.Second

// StartRegistry starts a registry.
func StartRegistry(ctx context.Context, opts RegistryOptions) (*Registry, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	fake := srfake.NewRegistry()
	handler := fake.Handler()
	var kept *journal
	if opts.DataDir != "" {
		if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
			return nil, err
		}
		var err error
		if kept, err = openJournal(ctx, filepath.Join(opts.DataDir, journalName), handler); err != nil {
			return nil, err
		}
		handler = kept
	}
	listener, err := listen(ctx, "the schema registry", opts.Port)
	if err != nil {
		return nil, errors.Join(err, kept.close())
	}
	r := &Registry{
		Fake:    fake,
		server:  &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout},
		journal: kept,
		served:  make(chan error, 1),
		url:     "http://" + listener.Addr().String(),
	}
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

// URL is the registry's address.
func (r *Registry) URL() string { return r.url }

// closePatience is for requests in flight: they're answered from memory.
const closePatience = time.Second

// Close answers what was asked and ends the registry.
func (r *Registry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// Connections on which nothing was ever asked: clients keep spare ones.
		err = r.server.Close()
	}
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, r.journal.close())
}
