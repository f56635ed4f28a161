package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tieout/tieout/streams/findings"
)

// The comparison once more, in a way that nobody would for many lines: all in
// memory, found by looking at everything, with whole numbers. Quantities are in
// tenths, prices and amounts in cents.

type naiveKey struct{ interval, trade, node string }

type naiveVersion struct {
	naiveKey
	version    int64
	revision   int32
	mwh, price int64
}

// amount is mwh x price to the even cent.
func (v naiveVersion) amount() int64 { return roundThousandths(v.mwh*v.price, "half_even") }

type naiveLine struct {
	naiveKey
	amount     int64
	mwh, price *int64
}

// A naiveVerdict is what is said of one key.
type naiveVerdict struct {
	class             findings.Class
	statement, ledger int64
	explanation       string
}

// roundThousandths rounds thousandths to cents. Names and meanings are Python's.
func roundThousandths(n int64, mode string) int64 {
	negative := n < 0
	if negative {
		n = -n
	}
	whole, rest := n/10, n%10
	up := false
	switch mode {
	case "half_up":
		up = rest >= 5
	case "half_down":
		up = rest > 5
	case "half_even":
		up = rest > 5 || rest == 5 && whole%2 == 1
	case "up":
		up = rest > 0
	case "down":
	case "ceiling":
		up = rest > 0 && !negative
	case "floor":
		up = rest > 0 && negative
	case "05up":
		up = rest > 0 && (whole%10 == 0 || whole%10 == 5)
	default:
		panic(mode)
	}
	if up {
		whole++
	}
	if negative {
		return -whole
	}
	return whole
}

// naiveCompare returns the verdict on each key that either side has.
func naiveCompare(versions []naiveVersion, lines []naiveLine, byNode bool, tolerance int64) map[naiveKey]naiveVerdict {
	of := func(k naiveKey) naiveKey {
		if !byNode {
			k.node = ""
		}
		return k
	}
	verdicts := map[naiveKey]naiveVerdict{}
	for _, v := range versions {
		verdicts[of(v.naiveKey)] = naiveVerdict{}
	}
	for _, l := range lines {
		verdicts[of(l.naiveKey)] = naiveVerdict{}
	}
	for key := range verdicts {
		var ours []naiveVersion
		for _, v := range versions {
			if of(v.naiveKey) == key {
				ours = append(ours, v)
			}
		}
		var theirs []naiveLine
		for _, l := range lines {
			if of(l.naiveKey) == key {
				theirs = append(theirs, l)
			}
		}
		verdicts[key] = naiveJudge(ours, theirs, tolerance)
	}
	return verdicts
}

func naiveJudge(ours []naiveVersion, theirs []naiveLine, tolerance int64) (v naiveVerdict) {
	newest := map[string]naiveVersion{} // by node
	for _, o := range ours {
		n, known := newest[o.node]
		if !known || o.version > n.version || o.version == n.version && o.revision > n.revision {
			newest[o.node] = o
		}
	}
	for _, n := range newest {
		v.ledger += n.amount()
	}
	for _, l := range theirs {
		v.statement += l.amount
	}
	v.class = Equal
	switch {
	case len(theirs) > 1:
		v.class = findings.DuplicateInStatement
	case len(ours) == 0:
		v.class = findings.MissingInLedger
	case len(theirs) == 0:
		v.class = findings.MissingInStatement
	case len(newest) > 1:
		if abs(v.statement-v.ledger) > tolerance {
			v.class = findings.Amount
		}
	default:
		v.class, v.explanation = naiveExplain(newest[ours[0].node], ours, theirs[0], tolerance)
	}
	return v
}

func naiveExplain(newest naiveVersion, ours []naiveVersion, line naiveLine, tolerance int64) (findings.Class, string) {
	otherMWh := line.mwh != nil && *line.mwh != newest.mwh
	otherPrice := line.price != nil && *line.price != newest.price
	off := abs(line.amount - newest.amount())
	if !otherMWh && !otherPrice && off <= tolerance {
		return Equal, ""
	}
	if !otherMWh && !otherPrice && off <= 1 {
		var roundings []string
		for _, mode := range []string{"half_up", "half_down", "up", "down", "ceiling", "floor", "05up"} {
			if roundThousandths(newest.mwh*newest.price, mode) == line.amount {
				roundings = append(roundings, mode)
			}
		}
		if len(roundings) > 0 {
			return findings.Rounding, strings.Join(roundings, " or ")
		}
	}
	older := slices.SortedFunc(slices.Values(ours), func(a, b naiveVersion) int {
		return cmp.Or(cmp.Compare(b.version, a.version), cmp.Compare(b.revision, a.revision))
	})
	for _, o := range older[1:] {
		if o.amount() == line.amount {
			return findings.StaleVersion, fmt.Sprint(o.version, o.revision)
		}
	}
	switch {
	case otherMWh:
		return findings.Quantity, ""
	case otherPrice:
		return findings.Price, ""
	}
	return findings.Amount, ""
}

func abs(n int64) int64 { return max(n, -n) }
