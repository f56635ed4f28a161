package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieout/tieout/pkg/settle"
)

// A brokerClock is a watch that the broker holds: a worker is timed by what
// reaches the broker, and not by what it says of itself.
type brokerClock struct {
	mu      sync.Mutex
	running bool
	first   time.Time // the first fetch
	last    time.Time // the last end of a transaction
}

// watch notes a request; it never answers one.
func (c *brokerClock) watch(request kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // as kfake wants it
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now := time.Now(); request.(type) {
	case *kmsg.FetchRequest:
		if c.running && c.first.IsZero() {
			c.first = now
		}
	case *kmsg.EndTxnRequest:
		if c.running {
			c.last = now
		}
	}
	return nil, nil, false
}

func (c *brokerClock) run(running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = running
}

func (c *brokerClock) took() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Sub(c.first)
}

// measureWorker lets a worker drain the topic, in a process of its own.
func (b *settleBench) measureWorker(ctx context.Context) error {
	clock := &brokerClock{}
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.EndTxn} {
		b.sandbox.stack.Kafka.Cluster.ControlKey(key.Int16(), clock.watch)
	}
	clock.run(true)
	defer clock.run(false)
	stopped, memory, err := b.runWorker(ctx)
	if err != nil {
		return err
	}
	took := clock.took()
	b.report.EndToEnd = benchRate{Seconds: seconds(took), Rate: rate(int64(b.flags.records), took)}
	b.report.MemoryMiB = memory >> 20
	b.report.Busy = stopped.busySeconds()
	if b.report.Limit.Rate > 0 {
		b.report.Ratio = float64(b.report.EndToEnd.Rate) / float64(b.report.Limit.Rate)
	}
	return nil
}

// runWorker runs `tieout run --drain` to its end.
func (b *settleBench) runWorker(ctx context.Context) (stopped stoppedLine, memory int64, err error) {
	program, err := os.Executable()
	if err != nil {
		return stopped, 0, fmt.Errorf("find the program itself: %w", err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = []string{"tieout", "run", benchLane().Name, "--drain"}
	cmd.Dir = b.sandbox.dir // where no configuration lies
	cmd.Env = b.workerEnvironment()
	cmd.Stderr = &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = workerPatience
	if err := cmd.Start(); err != nil {
		return stopped, 0, fmt.Errorf("start a worker: %w", err)
	}
	measured := make(chan int64, 1)
	exited, stop := context.WithCancel(ctx)
	go func() { measured <- watchMemory(exited, cmd.Process.Pid) }()
	err = cmd.Wait()
	stop()
	memory = max(<-measured, 0)
	if err != nil {
		return stopped, 0, fmt.Errorf("the worker ended: %w: %s", err, lastLine(said.String()))
	}
	if memory == 0 {
		memory = maxResident(cmd.ProcessState)
	}
	stopped, err = findStopped(&said)
	return stopped, memory, err
}

// workerPatience is how long a worker may take that was told to stop: it says
// itself that it's gone within 10 s.
const workerPatience = 15 * time.Second

// workerEnvironment leads a worker to the sandbox, and nowhere else.
func (b *settleBench) workerEnvironment() []string {
	var env []string
	for _, entry := range b.app.env {
		name, _, _ := strings.Cut(entry, "=")
		if name != "DATABASE_URL" && !strings.HasPrefix(name, variablePrefix) && !strings.HasPrefix(name, "OTEL_") {
			env = append(env, entry)
		}
	}
	cfg := b.sandbox.cfg
	return append(env,
		variableOf("database-url")+"="+cfg.DatabaseURL, variableOf("schema")+"="+cfg.Schema,
		variableOf("brokers")+"="+strings.Join(cfg.Brokers, ","), variableOf("registry-url")+"="+cfg.RegistryURL,
		variableOf("group-prefix")+"="+cfg.GroupPrefix,
		variableOf("log-format")+"="+formatJSON, variableOf("log-level")+"=info",
	)
}

// A stoppedLine is the last thing that a worker logs.
type stoppedLine struct {
	Message string                   `json:"msg"`
	Busy    map[string]time.Duration `json:"busy"`
}

func (l stoppedLine) busySeconds() map[string]float64 { return metered{busy: l.Busy}.busySeconds() }

// errNotStopped can only be where the worker is of another version.
var errNotStopped = errors.New("the worker didn't say what it did")

func findStopped(log io.Reader) (line stoppedLine, err error) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var candidate stoppedLine
		if json.Unmarshal(lines.Bytes(), &candidate) == nil && candidate.Message == stoppedMessage {
			return candidate, nil
		}
	}
	return line, errNotStopped
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// verify makes sure that what was measured was done: every claim is in the
// ledger, and its outcome can be read.
func (b *settleBench) verify(ctx context.Context) error {
	lane, cfg := benchLane(), b.sandbox.cfg
	l, err := openBook(ctx, cfg, lane, "bench", b.sandbox.logger)
	if err != nil {
		return err
	}
	defer l.Close()
	totals, err := l.Totals(ctx)
	if err != nil {
		return err
	}
	var posted int64
	for _, total := range totals {
		if total.Outcome == settle.AutoPost {
			posted += total.Rows
		}
	}
	options, err := kafkaOptions(cfg, b.sandbox.logger)
	if err != nil {
		return err
	}
	var published int64
	err = readCommitted(ctx, options, []string{cfg.topic(lane.Topics.AutoPost)}, func(*kgo.Record) error {
		published++
		return nil
	})
	if err != nil {
		return err
	}
	if want := int64(b.flags.records); posted != want || published != want {
		return fmt.Errorf("of %d claims, %d are in the ledger and %d outcomes can be read", want, posted, published)
	}
	return nil
}
