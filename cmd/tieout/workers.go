package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/pipeline"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/telemetry"
	"github.com/tieout/tieout/schemas"
)

// A workerSet is the workers of one process, and what they work with. Lanes
// share the registry client and what it has decoded, and nothing else.
type workerSet struct {
	cfg           *config
	logger        *slog.Logger
	telemetry     *telemetry.Telemetry // served to scrapes; nil where nobody scrapes
	metrics       pipeline.Metrics
	tracer        trace.Tracer
	instance      string
	instanceIsOwn bool
	drain         bool
	parallelism   int
	batchRecords  int // 0: the pipeline's default
	startTimeout  time.Duration

	kafka    []kgo.Opt
	registry *codec.Registry
	workers  []*pipeline.Worker
	closers  []func()

	mu      sync.Mutex
	waiting string // what the start waits for; empty once it is over
}

// open connects to everything and makes a worker for each lane.
func (s *workerSet) open(ctx context.Context, lanes []settle.Lane) (err error) {
	if s.kafka, err = kafkaOptions(s.cfg, s.logger); err != nil {
		return err
	}
	if s.registry, err = openRegistry(s.cfg); err != nil {
		return err
	}
	s.closers = append(s.closers, s.registry.Close)
	err = s.await(ctx, "Kafka", kafkaMayCome, func() error {
		client, err := openKafka(ctx, s.cfg, s.logger)
		if err == nil {
			client.Close()
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		worker, err := s.openLane(ctx, lane)
		if err != nil {
			return err
		}
		s.addWorker(worker)
	}
	s.wait("")
	return nil
}

func (s *workerSet) openLane(ctx context.Context, lane settle.Lane) (*pipeline.Worker, error) {
	options := pipeline.Options{
		Lane: lane, TopicPrefix: s.cfg.TopicPrefix, GroupPrefix: s.cfg.GroupPrefix,
		Instance: s.instance, InstanceIsOwn: s.instanceIsOwn,
		Client: s.kafka, Drain: s.drain, Parallelism: s.parallelism, MaxPollRecords: s.batchRecords,
		Logger: s.logger, Metrics: s.metrics, Tracer: s.tracer,
		Encoders: map[string]*codec.Encoder{},
	}
	err := s.await(ctx, "the database", ledger.MayCome, func() (err error) {
		options.Ledger, err = s.openLedger(ctx, lane, options.Group())
		return err
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, options.Ledger.Close)
	if options.Decoders, err = newDecoders(s.registry, lane); err != nil {
		return nil, err
	}
	for _, topic := range []string{lane.Topics.AutoPost, lane.Topics.Dispute} {
		if topic == "" {
			continue
		}
		err := s.await(ctx, "the schema registry", registryMayCome, func() (err error) {
			options.Encoders[topic], err = lookUpEncoder(ctx, s.registry, s.cfg.topic(topic), schemas.Outcome)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return pipeline.New(options)
}

// openLedger opens a lane's ledger and writes down by what rules it settles.
func (s *workerSet) openLedger(ctx context.Context, lane settle.Lane, group string) (*ledger.Ledger, error) {
	table := lane.Stream.Table()
	if table.Versioned() && s.cfg.SameVersion == sameVersionRevise {
		table.SameVersion = settle.Revise
	}
	l, err := ledger.Open(ctx, ledger.Options{
		URL: s.cfg.DatabaseURL, Schema: s.cfg.Schema, Role: s.cfg.WorkerRole,
		ConsumerGroup: group, Table: table, Stream: lane.Stream.Name(),
		MaxConns: s.parallelism + 1, ApplicationName: "tieout run " + lane.Name,
		Logger: s.logger,
	})
	if err != nil {
		return nil, err
	}
	if err := l.RegisterRules(ctx, ledger.Rules{BinaryVersion: version, Configuration: map[string]any{"stream": lane.Stream.Name(), "same_version": s.cfg.SameVersion}}); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// newDecoders reads a lane's envelopes, whoever wrote them.
func newDecoders(registry *codec.Registry, lane settle.Lane) (*codec.Decoders, error) {
	schema, target := lane.Stream.Envelope()
	reader, err := codec.NewReader(schema, target, codec.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	return codec.NewDecoders(registry, reader), nil
}

// lookUpEncoder makes the encoder of a topic's values, whose schema setup has
// registered.
func lookUpEncoder(ctx context.Context, registry *codec.Registry, topic, schema string) (*codec.Encoder, error) {
	id, err := registry.Lookup(ctx, topic+"-value", schema)
	switch {
	case errors.Is(err, codec.ErrNotRegistered):
		return nil, fmt.Errorf("subject %s-value doesn't have tieout's schema; run: tieout setup", topic)
	case err != nil:
		return nil, err
	}
	return codec.NewEncoder(schema, id)
}

func openRegistry(cfg *config) (*codec.Registry, error) {
	return codec.NewRegistry(codec.RegistryOptions{
		URL: cfg.RegistryURL, Username: cfg.RegistryUsername, Password: cfg.RegistryPassword,
	})
}

// await tries until it works, until it is clear that it never will, or until
// the start took too long; /readyz tells meanwhile what is waited for.
func (s *workerSet) await(ctx context.Context, what string, mayCome func(error) bool, try func() error) error {
	return awaitServer(ctx, s.logger, s.startTimeout, what, mayCome, func() error {
		err := try()
		if err != nil {
			s.wait("waiting for " + what + ": " + err.Error())
		}
		return err
	})
}

// registryMayCome tells a registry that is away from one that refuses.
func registryMayCome(err error) bool {
	var failed *codec.RegistryError
	return errors.As(err, &failed) && (failed.Status == 0 || failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusTooManyRequests)
}

// kafkaMayCome tells a broker that is away from one that refuses.
func kafkaMayCome(err error) bool {
	var (
		firstEOF  *kgo.ErrFirstReadEOF
		authority x509.UnknownAuthorityError
	)
	return !errors.Is(err, kerr.SaslAuthenticationFailed) && !errors.As(err, &firstEOF) && !errors.As(err, &authority)
}

func (s *workerSet) wait(waiting string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = waiting
}

func (s *workerSet) addWorker(w *pipeline.Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = append(s.workers, w)
	s.closers = append(s.closers, w.Close)
}

// ready tells whether every lane works, and if not, why; and what is halted
// where the rest goes on.
func (s *workerSet) ready() (ok bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != "" {
		return false, s.waiting
	}
	ok = true
	var reasons []string
	for _, w := range s.workers {
		works, why := w.Ready()
		ok = ok && works
		if why != "" {
			reasons = append(reasons, why)
		}
	}
	return ok, strings.Join(reasons, "; ")
}

// serve answers scrapes and health checks; nil where no address is given.
func (s *workerSet) serve(ctx context.Context, address string) (*telemetry.Server, error) {
	s.wait("starting")
	if address == "" {
		return nil, nil
	}
	return telemetry.Serve(ctx, telemetry.ServerOptions{
		Address: address, Metrics: s.telemetry.Metrics(), Ready: s.ready, Logger: s.logger,
	})
}

// close ends what was opened, last first.
func (s *workerSet) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}
