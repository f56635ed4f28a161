package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieout/tieout/pkg/settle"
)

// What a crash may not change: the figures in the ledger, and those on the
// topics as any reader sees them. The file is the big one where there is room
// for it, beside the project; else the month that the project carries.
type crashFile struct {
	path    string
	records int
	want    figuresSeen
}

// figuresSeen are what the ledger and the topics must hold, once each.
type figuresSeen struct {
	ledger                         string // rows and total
	counts                         string // applied, skipped, dead lettered, disputed
	autoPosts, disputes, deadTotal int
}

func crashInput(t *testing.T) crashFile {
	t.Helper()
	nineMonths := filepath.Join("..", "..", "..", "shared", "data", "sales", "retail_2010_12_to_2011_08.claims.csv.gz")
	if _, err := os.Stat(nineMonths); err == nil {
		return crashFile{nineMonths, 324_016, figuresSeen{"313324 281256.26", "313324 3243 7449 9844", 303_480, 9_844, 7_449}}
	}
	return crashFile{
		filepath.Join("..", "..", "testdata", "sales", "retail_2010_12.claims.csv.gz"), 42_944,
		figuresSeen{"41602 36864.04", "41602 452 890 1312", 40_290, 1_312, 890},
	}
}

// A drill is an installation with the file enqueued, and worker processes that
// come to harm.
type drill struct {
	t    *testing.T
	env  []string
	bin  string
	file crashFile

	rejected map[string]string // reasons by run and line, where a test wants them
}

func newDrill(t *testing.T) *drill {
	t.Helper()
	d := &drill{t: t, env: testInstallation(t), bin: filepath.Join(installPrograms(t), "tieout"), file: crashInput(t)}
	require.Zero(t, invoke(t, d.env, "setup").code)
	sent := invoke(t, d.env, "produce", "sales", d.file.path)
	require.Zero(t, sent.code, sent.stderr)
	return d
}

func TestSIGKILLAtRandomMomentsChangesNoFigure(t *testing.T) {
	const kills = 10
	d := newDrill(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range kills {
		worker := d.start("run", "accrue")
		before := d.progress()
		if before < int64(d.file.records) {
			d.awaitProgress(before)
		}
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		d.kill(worker)
	}
	d.drain()
	d.assertFigures()
}

func TestWorkersThatJoinAndLeaveHalfWayChangeNoFigure(t *testing.T) {
	d := newDrill(t)
	first, second := d.start("run", "accrue"), d.start("run", "accrue")
	d.awaitProgress(0)
	third := d.start("run", "accrue")
	d.awaitProgress(int64(d.file.records) / 3)
	d.leave(first)
	d.awaitProgress(int64(d.file.records) / 2)
	d.kill(second)
	d.leave(third)
	d.drain()
	d.assertFigures()
}

// start runs a tieout process.
func (d *drill) start(args ...string) *exec.Cmd {
	d.t.Helper()
	cmd := exec.Command(d.bin, args...) //nolint:noctx // ended by signals, which is what is tested
	cmd.Env = append(os.Environ(), d.env...)
	cmd.Stderr = new(bytes.Buffer)
	require.NoError(d.t, cmd.Start())
	d.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func (d *drill) kill(worker *exec.Cmd) {
	d.t.Helper()
	require.NoError(d.t, worker.Process.Kill())
	var exit *exec.ExitError
	if err := worker.Wait(); err != nil && !errors.As(err, &exit) {
		require.NoError(d.t, err)
	}
}

// leave stops a worker in good order: within 10 seconds and with exit code 0.
func (d *drill) leave(worker *exec.Cmd) {
	d.t.Helper()
	started := time.Now()
	require.NoError(d.t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(d.t, worker.Wait(), "%s", worker.Stderr)
	assert.Less(d.t, time.Since(started), 10*time.Second, "a stop takes at most 10 s")
}

func (d *drill) drain() {
	d.t.Helper()
	worker := d.start("run", "accrue", "--drain")
	require.NoError(d.t, worker.Wait(), "%s", worker.Stderr)
}

// progress is how many records are settled.
func (d *drill) progress() int64 {
	d.t.Helper()
	var n int64
	_, err := fmt.Sscan(d.query("SELECT coalesce(sum(next_offset), 0)::bigint FROM "+d.schema()+".progress"), &n)
	require.NoError(d.t, err)
	return n
}

func (d *drill) awaitProgress(beyond int64) {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); d.progress() <= beyond; time.Sleep(5 * time.Millisecond) {
		require.True(d.t, time.Now().Before(deadline), "no progress beyond %d", beyond)
	}
}

func (d *drill) schema() string { return lookupEnv(d.env, "TIEOUT_SCHEMA") }

func (d *drill) query(sql string) string {
	d.t.Helper()
	var out bytes.Buffer
	require.NoError(d.t, query(context.Background(), &out, lookupEnv(d.env, "TIEOUT_DATABASE_URL"), sql))
	return strings.TrimSpace(out.String())
}

// assertFigures compares the ledger and the topics with what the file is known
// to come to.
func (d *drill) assertFigures() {
	d.t.Helper()
	want, schema := d.file.want, d.schema()
	assert.Equal(d.t, want.ledger, d.query("SELECT count(*) || ' ' || sum(amount) FROM "+schema+".sales_ledger"))
	assert.Equal(d.t, want.counts, d.query("SELECT concat_ws(' ', sum(applied), sum(skipped), sum(dead_lettered), sum(disputed)) FROM "+schema+".run_counter"))
	assert.Equal(d.t, fmt.Sprint(want.deadTotal), d.query("SELECT count(*)::text FROM "+schema+".dead_letter"))

	counts, seen := map[string]int{}, map[string]string{}
	brokers := strings.Split(lookupEnv(d.env, "TIEOUT_BROKERS"), ",")
	topics := []string{"recon.autopost", "recon.dispute", "recon.dlq"}
	err := readCommitted(d.t.Context(), []kgo.Opt{kgo.SeedBrokers(brokers...)}, topics, func(r *kgo.Record) error {
		counts[r.Topic]++
		for _, h := range r.Headers {
			if h.Key != settle.HeaderSource {
				continue
			}
			if earlier, twice := seen[string(h.Value)]; twice {
				return fmt.Errorf("the outcome of %s is on %s and again on %s", h.Value, earlier, r.Topic)
			}
			seen[string(h.Value)] = r.Topic
		}
		return nil
	})
	require.NoError(d.t, err)
	assert.Equal(d.t, map[string]int{"recon.autopost": want.autoPosts, "recon.dispute": want.disputes, "recon.dlq": want.deadTotal}, counts)
	assert.Len(d.t, seen, want.autoPosts+want.disputes+want.deadTotal)
	d.assertRunIsComplete()
}

// assertRunIsComplete compares the counters with what the producer says that it
// sent, to each partition and in quantity.
func (d *drill) assertRunIsComplete() {
	d.t.Helper()
	var listed []deliveryCounts
	require.NoError(d.t, json.Unmarshal([]byte(invoke(d.t, d.env, "runs", "list", "--format", "json").stdout), &listed))
	require.Len(d.t, listed, 1)
	assert.EqualValues(d.t, d.file.records, listed[0].Total)
	shown := invoke(d.t, d.env, "runs", "show", listed[0].RunID)
	assert.Equal(d.t, exitDone, shown.code, "%s%s", shown.stdout, shown.stderr)
	assert.Contains(d.t, shown.stdout, ", which is the same.\n")
}
