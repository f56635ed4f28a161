package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/producer"
	"github.com/tieout/tieout/pkg/runs"
	"github.com/tieout/tieout/pkg/settle"
)

// A said is one delivery, and what a person is told of it below the table.
type said struct {
	part runs.Part
	want string
}

func parseSum(t *testing.T, text string) money.Sum {
	t.Helper()
	sum, err := money.ParseSum(text)
	require.NoError(t, err)
	return sum
}

func TestWriteRun_SaysWhatIsKnownAndNoMore(t *testing.T) {
	manifest := func(sent, rejected int64, sum string) *producer.Manifest {
		m := &producer.Manifest{Sent: sent, Rejected: rejected}
		if sum != "" {
			m.Quantity, m.ControlSum = "mwh", parseSum(t, sum)
		}
		return m
	}
	quantities := func(applied, skipped, dead string, unmeasured int64) ledger.Quantities {
		return ledger.Quantities{Applied: parseSum(t, applied), Skipped: parseSum(t, skipped), DeadLettered: parseSum(t, dead), Unmeasured: unmeasured}
	}
	for name, c := range map[string]said{
		"complete": {
			runs.Part{State: runs.Complete, Manifest: manifest(13_088, 5, "1234.5"), Quantities: quantities("1200.5", "30", "4", 0)}, `
D: complete: 13,088 of 13,088 records sent to etrm.trades arrived.
mwh: 1,234.5 sent; 1,200.5 applied, 30 skipped, 4 dead-lettered, which is the same.
Refused and not sent: 5 lines.
`},
		"one record": {
			runs.Part{State: runs.Complete, Manifest: manifest(1, 1, "")}, `
D: complete: 1 of 1 record sent to etrm.trades arrived.
Refused and not sent: 1 line.
`},
		"complete, with a record that can't be read": {
			runs.Part{State: runs.Complete, Manifest: manifest(3, 0, "-6"), Quantities: quantities("-4", "0", "0", 1)}, `
D: complete: 3 of 3 records sent to etrm.trades arrived.
mwh: -6 sent; -4 applied, 0 skipped, 0 dead-lettered; the rest, -2, can only be that of the 1 record of which it can't be read.
`},
		"incomplete": {
			runs.Part{
				State: runs.Incomplete, Manifest: manifest(7_000, 0, "70.5"), Quantities: quantities("58", "0", "0", 0),
				Differing: []runs.Partition{{Partition: 1, Sent: 4_000, Arrived: 2_500, Halted: ledger.HaltTopicRecreated}, {Partition: 12, Sent: 1, Arrived: 0}},
			}, `
D: incomplete: 5,499 of 7,000 records sent to etrm.trades arrived. Missing are:
TOPIC        PARTITION   SENT  ARRIVED  MISSING
etrm.trades          1  4,000    2,500    1,500  halted: topic_recreated
etrm.trades         12      1        0        1
mwh: 70.5 sent; 58 applied, 0 skipped, 0 dead-lettered; the rest, 12.5, must be what is missing.
`},
		"incomplete, with records that can't be read": {
			runs.Part{
				State: runs.Incomplete, Manifest: manifest(4, 0, "4"), Quantities: quantities("1", "0", "0", 2),
				Differing: []runs.Partition{{Partition: 0, Sent: 1, Arrived: 0}},
			}, `
D: incomplete: 3 of 4 records sent to etrm.trades arrived. Missing are:
TOPIC        PARTITION  SENT  ARRIVED  MISSING
etrm.trades          0     1        0        1
mwh: 4 sent; 1 applied, 0 skipped, 0 dead-lettered; the rest, 3, must be what is missing and the 2 records of which it can't be read.
`},
		"more than was sent": {
			runs.Part{
				State: runs.Differs, Manifest: manifest(1, 0, "1"), Quantities: quantities("2", "0", "0", 0),
				Differing: []runs.Partition{{Partition: 0, Sent: 1, Arrived: 2}},
			}, `
D: differs: 1 of 1 record sent to etrm.trades arrived, but what arrived isn't what was sent.
TOPIC        PARTITION  SENT  ARRIVED  MISSING
etrm.trades          0     1        2       -1
mwh: 1 sent; 2 applied, 0 skipped, 0 dead-lettered; the difference of -1 is unexplained.
`},
		"another sum": {
			runs.Part{State: runs.Differs, Manifest: manifest(1, 0, "1"), Quantities: quantities("0.999999999", "0", "0", 0)}, `
D: differs: 1 of 1 record sent to etrm.trades arrived, but what arrived isn't what was sent.
mwh: 1 sent; 0.999999999 applied, 0 skipped, 0 dead-lettered; the difference of 0.000000001 is unexplained.
`},
		"aborted": {
			runs.Part{State: runs.Aborted, Manifest: manifest(10_000, 0, "")}, `
D: aborted with 10,000 records acknowledged; send its file again.
`},
		"aborted and sent again": {
			runs.Part{
				State: runs.Aborted, Manifest: manifest(10, 0, ""), SentAgain: "D2",
				Differing: []runs.Partition{{Partition: 0, Sent: 10, Arrived: 9}},
			}, `
D: aborted with 10 records acknowledged; all of its file came again as D2. Missing of those acknowledged are:
TOPIC        PARTITION  SENT  ARRIVED  MISSING
etrm.trades          0    10        9        1
`},
		"not settled": {
			runs.Part{State: runs.Unsettled, Manifest: manifest(2, 0, "2")}, `
D: 2 records sent to etrm.trades, which isn't settled: nothing is to arrive.
`},
		"without a manifest": {
			runs.Part{State: runs.Unknown}, `
D: no manifest says what was sent: the delivery is under way, or was cut off, or its producer writes none.
`},
	} {
		t.Run(name, func(t *testing.T) {
			c.part.Delivery, c.part.Topic, c.part.Stream = settle.Delivery{RunID: "r", Delivery: "D"}, "etrm.trades", "trades"
			var b strings.Builder
			require.NoError(t, writeRun(&b, &shownRun{Known: true, Parts: showParts([]runs.Part{c.part})}))
			_, below, _ := strings.Cut(b.String(), "\n\n")
			require.Equal(t, c.want[1:], below)
		})
	}
}

func TestWriteRun_BeginsWithATableOfDeliveries(t *testing.T) {
	begin := time.Date(2026, 9, 1, 8, 0, 0, 999, time.FixedZone("", 7200))
	parts := []runs.Part{
		{
			Delivery: settle.Delivery{RunID: "r", Delivery: "01K5AZ3J8N6V0Q2X4R7T9W1Y3B"}, Stream: "trades", Topic: "etrm.trades", State: runs.Complete,
			Counts: ledger.Counts{Applied: 12_923, Skipped: 153, DeadLettered: 12}, Manifest: &producer.Manifest{Sent: 13_088}, First: begin, Last: begin.Add(time.Hour),
		},
		{Delivery: settle.Delivery{RunID: "r"}, Stream: "trades", Topic: "etrm.trades", State: runs.Unknown, Counts: ledger.Counts{Skipped: 1}, First: begin, Last: begin},
		{Delivery: settle.Delivery{RunID: "r", Delivery: "a\tb"}, Topic: "elsewhere", State: runs.Incomplete, Manifest: &producer.Manifest{Sent: 7}},
	}
	var b strings.Builder
	require.NoError(t, writeRun(&b, &shownRun{Parts: showParts(parts)}))
	require.Equal(t, `
DELIVERY                    STREAM  TOPIC        APPLIED  SKIPPED  DEAD  DISPUTED   TOTAL    SENT  STATE       FIRST                 LAST
01K5AZ3J8N6V0Q2X4R7T9W1Y3B  trades  etrm.trades   12,923      153    12         0  13,088  13,088  complete    2026-09-01T06:00:00Z  2026-09-01T07:00:00Z
-                           trades  etrm.trades        0        1     0         0       1       ?  unknown     2026-09-01T06:00:00Z  2026-09-01T06:00:00Z
"a\tb"                      -       elsewhere          0        0     0         0       0       7  incomplete  -                     -
`[1:], b.String())
}

func TestReasons_AreEachNamedOnce(t *testing.T) {
	r := shownRun{Parts: []shownPart{
		{State: runs.Complete}, {State: runs.Unsettled}, {State: runs.Incomplete, missing: 1}, {State: runs.Unknown}, {State: runs.Unknown}, {State: runs.Differs},
		{State: runs.Aborted}, {State: runs.Aborted, SentAgain: "D"}, {State: runs.Aborted, SentAgain: "D", missing: 2},
	}}
	require.Equal(t, "1 record missing, a delivery has no manifest, what has arrived isn't what was sent, a delivery was aborted, 2 records missing", r.reasons())
}
