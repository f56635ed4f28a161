package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tieout/tieout/pkg/codec"
	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/pipeline"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/schemas"
	"github.com/tieout/tieout/streams"
)

// An installer makes the parts of an installation, where they're missing.
type installer struct {
	cfg    *config
	flags  setupFlags
	logger *slog.Logger
}

// install makes the parts one after the other. Each can be made again, so a
// failure in the middle is mended by another call.
func (i *installer) install(ctx context.Context) ([]setupStep, error) {
	var all []setupStep
	for _, part := range []struct {
		server  string
		mayCome func(error) bool
		install func(context.Context) ([]setupStep, error)
	}{
		{"the database", ledger.MayCome, i.installTables},
		{"Kafka", kafkaMayCome, i.installTopics},
		{"the schema registry", registryMayCome, i.installSubjects},
	} {
		var steps []setupStep
		err := awaitServer(ctx, i.logger, i.flags.startTimeout, part.server, part.mayCome, func() (err error) {
			steps, err = part.install(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, steps...)
	}
	return all, nil
}

func (i *installer) installTables(ctx context.Context) ([]setupStep, error) {
	migrated, err := ledger.Migrate(ctx, ledger.MigrateOptions{
		URL: i.cfg.DatabaseURL, Schema: i.cfg.Schema, OwnerRole: i.cfg.OwnerRole, WorkerRole: i.cfg.WorkerRole,
		DryRun: i.flags.dryRun,
	})
	if err != nil {
		return nil, err
	}
	if len(migrated) == 0 {
		return []setupStep{i.step("database", "schema "+i.cfg.Schema, false, "")}, nil
	}
	steps := make([]setupStep, 0, len(migrated))
	for _, step := range migrated {
		steps = append(steps, i.step("database", step.String(), true, ""))
	}
	return steps, nil
}

func (i *installer) installTopics(ctx context.Context) ([]setupStep, error) {
	client, err := openKafka(ctx, i.cfg, i.logger)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	topics, err := pipeline.Provision(ctx, kadm.NewClient(client), i.provisionOptions())
	if err != nil {
		return nil, err
	}
	steps := make([]setupStep, 0, len(topics))
	for _, topic := range topics {
		steps = append(steps, i.step("topic", topic.Topic, topic.Created, describeTopic(topic)))
	}
	return steps, nil
}

func (i *installer) provisionOptions() pipeline.ProvisionOptions {
	return pipeline.ProvisionOptions{
		Topics: i.topics(), Partitions: i.flags.partitions, Replication: i.flags.replication,
		Retention: i.flags.retention, DryRun: i.flags.dryRun,
	}
}

// topics lists the topics of all lanes, each once, and that of manifests.
func (i *installer) topics() []string {
	topics := []string{i.cfg.topic(producer.ManifestTopic)}
	for _, lane := range streams.Lanes() {
		for _, name := range append([]string{lane.Topic}, lane.Topics.All()...) {
			if topic := i.cfg.topic(name); !slices.Contains(topics, topic) {
				topics = append(topics, topic)
			}
		}
	}
	return topics
}

func describeTopic(topic pipeline.ProvisionedTopic) string {
	if topic.Replication == pipeline.ClusterDefault {
		return fmt.Sprintf("partitions %d, replicas as the cluster has it", topic.Partitions)
	}
	return fmt.Sprintf("partitions %d, replicas %d", topic.Partitions, topic.Replication)
}

func (i *installer) installSubjects(ctx context.Context) ([]setupStep, error) {
	registry, err := openRegistry(i.cfg)
	if err != nil {
		return nil, err
	}
	defer registry.Close()
	var steps []setupStep
	for _, s := range i.subjects() {
		step, err := i.installSubject(ctx, registry, s)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// A subject is a name in the registry and the schema that belongs to it.
type subject struct{ name, schema string }

// subjects lists the subjects of all lanes, each once, and that of manifests. Dead letters carry the
// bytes that arrived, of whatever schema: their topic has no subject.
func (i *installer) subjects() []subject {
	var subjects []subject
	add := func(topic, schema string) {
		s := subject{i.cfg.topic(topic) + "-value", schema}
		if topic != "" && !slices.Contains(subjects, s) {
			subjects = append(subjects, s)
		}
	}
	add(producer.ManifestTopic, schemas.Manifest)
	for _, lane := range streams.Lanes() {
		envelope, _ := lane.Stream.Envelope()
		add(lane.Topic, envelope)
		add(lane.Topics.AutoPost, schemas.Outcome)
		add(lane.Topics.Dispute, schemas.Outcome)
	}
	return subjects
}

func (i *installer) installSubject(ctx context.Context, registry *codec.Registry, s subject) (setupStep, error) {
	if i.flags.dryRun {
		_, err := registry.Lookup(ctx, s.name, s.schema)
		missing := errors.Is(err, codec.ErrNotRegistered)
		if err != nil && !missing {
			return setupStep{}, err
		}
		return i.step("subject", s.name, missing, ""), nil
	}
	id, created, err := registry.Register(ctx, s.name, s.schema)
	if err != nil {
		return setupStep{}, err
	}
	return i.step("subject", s.name, created, fmt.Sprintf("schema id %d", id)), nil
}

// step notes what was made now, would be made, or was there.
func (i *installer) step(kind, name string, made bool, detail string) setupStep {
	state := stateThere
	switch {
	case made && i.flags.dryRun:
		state = stateMissing
	case made:
		state = stateMade
	}
	return setupStep{kind, name, state, detail}
}
