package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of the server: it answers small questions, from a scraper and a
// supervisor, and a client that is slow or many must not hold it.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = 2 * time.Second
	maxHeaderBytes = 16 << 10
	maxScrapes     = 4
)

// Paths that the server answers.
const (
	PathMetrics = "/metrics"
	PathHealth  = "/healthz"
	PathReady   = "/readyz"
)

// ServerOptions say where to listen and what to answer.
type ServerOptions struct {
	// Address is HOST:PORT. Without a host it's the loopback interface: to be
	// reached from elsewhere, name the host.
	Address string
	Metrics http.Handler
	// Ready tells whether the program does its work, and if not, why; with a why,
	// it does so in part.
	Ready  func() (ok bool, why string)
	Logger *slog.Logger
}

// A Server answers /metrics, /healthz and /readyz.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
}

// Serve listens and answers until Close.
func Serve(ctx context.Context, options ServerOptions) (*Server, error) {
	address, err := Address(options.Address)
	if err != nil {
		return nil, err
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	s := &Server{
		listener: listener,
		server: &http.Server{
			Handler:           newMux(options),
			ReadHeaderTimeout: headerTimeout,
			ReadTimeout:       headerTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelWarn),
		},
		done: make(chan error, 1),
	}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// Address is where the server listens, its port known.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close answers what is asked already and stops listening. It takes no longer
// than a bound of its own.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("end the HTTP server: %w", err)
	}
	return nil
}

func newMux(options ServerOptions) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET "+PathMetrics, options.Metrics)
	mux.HandleFunc("GET "+PathHealth, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET "+PathReady, func(w http.ResponseWriter, _ *http.Request) {
		switch ok, why := options.Ready(); {
		case !ok:
			answer(w, http.StatusServiceUnavailable, why)
		case why != "":
			answer(w, http.StatusOK, "ready, but "+why)
		default:
			answer(w, http.StatusOK, "ready")
		}
	})
	return mux
}

// answer writes one line. That the client is gone is no concern of ours.
func answer(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n")
}

// Address completes an address to HOST:PORT. It puts the loopback interface
// where no host is named: the metrics tell much about a business, so they leave
// the machine only when asked to.
func Address(address string) (string, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("HTTP address %q is not HOST:PORT", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("HTTP address %q is not HOST:PORT: a port is a number of at most %d", address, math.MaxUint16)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
