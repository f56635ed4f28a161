package ledger

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// A probe is a row of another stream, with every type of column, in the key
// and outside of it: what a second stream brings is its table and a migration.
type probe struct {
	period   string
	key      reconkey.Key
	revision int32
	version  int64
	interval int64
	quantity money.Decimal
	note     *string
	bytes    []byte
	small    int32
	currency string
}

func (p *probe) WriteColumns(w settle.RowWriter) {
	w.Text(p.period)
	w.Bytes(p.key[:])
	w.Int32(p.revision)
	w.Int64(p.version)
	w.TimestampMicros(p.interval)
	w.Decimal(p.quantity)
	if p.note == nil {
		w.Null()
	} else {
		w.Text(*p.note)
	}
	w.Bytes(p.bytes)
	w.Int32(p.small)
	w.Text(p.currency)
}

// probeTable's key is in another order than its columns.
func probeTable() settle.Table {
	return settle.Table{
		Name: "probe_ledger",
		Columns: []settle.Column{
			{Name: "period", Type: settle.Text}, {Name: "reconciliation_key", Type: settle.Bytes},
			{Name: "revision", Type: settle.Int32}, {Name: "version", Type: settle.Int64},
			{Name: "settlement_interval", Type: settle.Timestamp}, {Name: "quantity", Type: settle.Decimal},
			{Name: "note", Type: settle.Text}, {Name: "raw", Type: settle.Bytes}, {Name: "small", Type: settle.Int32},
			{Name: "currency", Type: settle.Text},
		},
		Key:       []string{"settlement_interval", "period", "reconciliation_key", "version", "revision"},
		Economics: []string{"quantity", "note", "raw", "currency"},
		Version:   "version",
	}
}

const probeMigration = `
CREATE TABLE probe_ledger (
	period text COLLATE "C" NOT NULL, reconciliation_key bytea NOT NULL, revision int NOT NULL, version bigint NOT NULL,
	settlement_interval timestamptz NOT NULL, quantity numeric(38,9) NOT NULL, note text, raw bytea NOT NULL, small int NOT NULL,
	currency text NOT NULL,
	amount numeric(18,2) NOT NULL, outcome text NOT NULL, run_id text NOT NULL, delivery text NOT NULL, correlation_id text NOT NULL,
	source int NOT NULL, source_offset bigint NOT NULL, origin_source int, origin_offset bigint,
	prev_version bigint, prev_amount numeric(18,2), rules_id int NOT NULL, posted_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (settlement_interval, period, reconciliation_key, version, revision)
);
GRANT SELECT, INSERT ON probe_ledger TO %s`

// openProbe opens a ledger of the other stream.
func (in *installation) openProbe() *Ledger {
	in.t.Helper()
	in.exec(fmt.Sprintf(probeMigration, in.setup.WorkerRole))
	return in.open(func(o *Options) { o.Stream, o.Table = "probe", probeTable() })
}

func newProbe(p *probe) *settle.Entry {
	e := &settle.Entry{Delivery: settle.Delivery{RunID: "run"}, Posting: settle.Posting{
		Key: p.key, Version: p.version, Revision: p.revision, Currency: p.currency, CorrelationID: "c", Row: p,
	}}
	e.Posting.SettlePosting(money.MustParse("0.00"), money.NullDecimal{})
	return e
}

// decimals are of any size that fits, with zeros and nines in all places.
func decimals(whole, fraction int) *rapid.Generator[money.Decimal] {
	return rapid.Custom(func(t *rapid.T) money.Decimal {
		digits := func(most int, label string) string {
			pattern := fmt.Sprintf("([0-9]{0,%d}|[09]{0,%[1]d}|10{0,%d})", most, max(most-1, 0))
			return rapid.StringMatching(pattern).Draw(t, label)
		}
		text := "0" + digits(whole, "whole")
		if f := digits(fraction, "fraction"); f != "" {
			text += "." + f
		}
		if rapid.Bool().Draw(t, "negative") {
			text = "-" + text
		}
		return money.MustParse(text)
	})
}

func texts() *rapid.Generator[string] {
	return rapid.StringN(0, 60, 240).Filter(func(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") })
}

// Postgres has dates from 4714 BC on; the latest of 64 bits of microseconds it
// doesn't show to the microsecond.
const minMicros, maxMicros = -210_866_803_200_000_000, math.MaxInt64 - 2*postgresEpochMicros

func probes() *rapid.Generator[*probe] {
	return rapid.Custom(func(t *rapid.T) *probe {
		p := &probe{
			period:   texts().Draw(t, "period"),
			key:      reconkey.Key(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")),
			revision: rapid.Int32().Draw(t, "revision"),
			version:  rapid.Int64().Draw(t, "version"),
			interval: rapid.Int64Range(minMicros, maxMicros).Draw(t, "interval"),
			quantity: decimals(29, 9).Draw(t, "quantity"),
			bytes:    rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
			small:    rapid.Int32().Draw(t, "small"),
			currency: texts().Draw(t, "currency"),
		}
		if rapid.Bool().Draw(t, "noted") {
			note := texts().Draw(t, "note")
			p.note = &note
		}
		return p
	})
}

func TestCopy_IsWhatPostgresReadsBack(t *testing.T) {
	in := newInstallation(t)
	source := in.acquire(in.openProbe(), "probes", 0)
	conn := in.connect("")
	var unique uint64
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(probes(), 1, 20).Draw(t, "rows")
		var entries []*settle.Entry
		for _, p := range list {
			unique++
			binary.BigEndian.PutUint64(p.key[:], unique)
			e := newProbe(p)
			e.Posting.Amount = decimals(16, 2).Draw(t, "amount")
			if rapid.Bool().Draw(t, "previous") {
				e.Posting.PrevVersion = &p.version
				e.Posting.PrevAmount = money.NullDecimal{Decimal: e.Posting.Amount, Valid: true}
			}
			entries = append(entries, e)
		}
		from := source.next
		source.commit(entries...)
		for i, e := range entries {
			requireRow(t, conn, source.id, from+int64(i), list[i], &e.Posting)
		}
	})
}

func requireRow(t *rapid.T, conn *pgx.Conn, source int32, offset int64, p *probe, posting *settle.Posting) {
	var got probe
	var key []byte
	var quantity, amount string
	var prevVersion *int64
	var prevAmount *string
	err := conn.QueryRow(t.Context(), `
SELECT period, reconciliation_key, revision, version, (extract(epoch FROM settlement_interval) * 1000000)::bigint,
	quantity::text, note, raw, small, currency, amount::text, prev_version, prev_amount::text
FROM probe_ledger WHERE source = $1 AND source_offset = $2`, source, offset).
		Scan(&got.period, &key, &got.revision, &got.version, &got.interval, &quantity, &got.note, &got.bytes, &got.small, &got.currency,
			&amount, &prevVersion, &prevAmount)
	require.NoError(t, err)
	require.Equal(t, fixed(p.quantity, 9), quantity)
	require.Equal(t, fixed(posting.Amount, 2), amount)
	require.Equal(t, posting.PrevVersion, prevVersion)
	if posting.PrevAmount.Valid {
		require.Equal(t, fixed(posting.PrevAmount.Decimal, 2), *prevAmount)
	}
	got.key, got.quantity = reconkey.Key(key), p.quantity
	if len(got.bytes) == 0 {
		got.bytes = p.bytes // Postgres has no nil that isn't NULL
	}
	require.Equal(t, *p, got)
}

// fixed is how Postgres shows a decimal of so many fraction digits.
func fixed(d money.Decimal, scale int) string {
	text := d.String()
	whole, fraction, _ := strings.Cut(text, ".")
	if d.Sign() == 0 {
		whole = "0"
	}
	return whole + "." + fraction + strings.Repeat("0", scale-len(fraction))
}

// Locks are taken in the order of the primary key everywhere, so Go's order has
// to be Postgres'.
func TestStage_IsInTheOrderOfThePrimaryKeyAndThenOfOffsets(t *testing.T) {
	in := newInstallation(t)
	l := in.openProbe()
	held, err := l.begin(t.Context())
	require.NoError(t, err)
	defer held.close(t.Context())
	s := newStage(&l.opts.Table)
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(probes(), 1, 5).Draw(t, "some")
		list := rapid.SliceOfN(probes(), 1, 30).Draw(t, "rows")
		var entries []*settle.Entry
		for i, p := range list {
			// Some have parts of their keys in common.
			q := rapid.SampledFrom(few).Draw(t, "like")
			for part, copied := range []func(){
				func() { p.interval = q.interval }, func() { p.period = q.period }, func() { p.key = q.key },
				func() { p.version = q.version }, func() { p.revision = q.revision },
			} {
				if part < rapid.IntRange(0, 5).Draw(t, "common") {
					copied()
				}
			}
			e := newProbe(p)
			e.Record.Offset = int64(i)
			entries = append(entries, e)
		}
		require.NoError(t, s.encode(entries))
		require.NoError(t, held.copyStage(t.Context(), s, len(s.rows)))
		var rows, misplaced int
		require.NoError(t, held.conn.QueryRow(t.Context(), `
SELECT count(*), count(*) FILTER (WHERE position <> place) FROM (SELECT position, row_number() OVER (
	ORDER BY settlement_interval, period COLLATE "C", reconciliation_key, version, revision, source_offset) - 1 AS place FROM pg_temp.stage) p`).
			Scan(&rows, &misplaced))
		require.Equal(t, len(list), rows)
		require.Zero(t, misplaced)
		_, err := held.conn.Exec(t.Context(), "TRUNCATE pg_temp.stage")
		require.NoError(t, err)
	})
}

func TestCopyReader_IsOneStreamHoweverItIsRead(t *testing.T) {
	buf := []byte("abcdefghij")
	rows := []span{{6, 10}, {0, 3}, {3, 6}}
	want := copyHeader + "ghijabcdef" + copyTrailer
	for name, reader := range map[string]io.Reader{
		"at once":     newCopyReader(buf, rows),
		"byte wise":   iotest.OneByteReader(newCopyReader(buf, rows)),
		"in halves":   iotest.HalfReader(newCopyReader(buf, rows)),
		"without end": iotest.DataErrReader(newCopyReader(buf, rows)),
	} {
		got, err := io.ReadAll(reader)
		require.NoError(t, err, name)
		require.Equal(t, want, string(got), name)
	}
	require.NoError(t, iotest.TestReader(newCopyReader(buf, rows), []byte(want)))
}

func TestCopy_AllocatesNothingForARow(t *testing.T) {
	table := sales.New().Table()
	s := newStage(&table)
	entries := make([]*settle.Entry, 100)
	for i := range entries {
		entries[i] = newClaim(fmt.Sprintf("INV-%d", i), claims("12345678901234567890123456789.123456789"))
	}
	require.NoError(t, s.encode(entries))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := s.encode(entries); err != nil {
			t.Fatal(err)
		}
	}))
}

func BenchmarkEncode(b *testing.B) {
	table := sales.New().Table()
	s := newStage(&table)
	const rows = 4000
	entries := make([]*settle.Entry, rows)
	for i := range entries {
		entries[i] = newClaim(fmt.Sprintf("INV-%d", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, s.encode(entries))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}

func TestNumeric_FitsItsColumnOrIsRefused(t *testing.T) {
	for text, want := range map[string]bool{"1.34": true, "1.340": true, "0.000000000": true, "1.345": false, "-0.001": false, "7": true} {
		require.Equal(t, want, fitsScale(money.MustParse(text), amountScale), text)
	}
}
