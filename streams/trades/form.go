package trades

import (
	"math"
	"strconv"
	"time"

	"github.com/tieout/tieout/pkg/reconkey"
	"github.com/tieout/tieout/pkg/settle"
)

// CheckForm makes the checks of form that need nothing but the envelope, in
// their order, and returns the key of its identity: the one that all versions of
// the trade share.
func (e *Envelope) CheckForm() (reconkey.Key, *settle.Failure) {
	// The first two have checks of their own for being empty; the last two may
	// be.
	texts := [...]settle.Field{
		{Name: "message_id", Text: e.MessageID},
		{Name: "reconciliation_key", Text: e.ReconciliationKey},
		{Name: "correlation_id", Text: e.CorrelationID},
		{Name: "trade_id", Text: e.TradeID},
		{Name: "node_id", Text: e.NodeID},
		{Name: "settlement_interval", Text: e.SettlementInterval},
		{Name: "currency", Text: e.Currency},
		{Name: "market_run", Text: orEmpty(e.MarketRun)},
		{Name: "meter_id", Text: orEmpty(e.MeterID)},
	}
	if failure := settle.CheckTexts(texts[:]); failure != nil {
		return reconkey.Key{}, failure
	}
	if failure := settle.CheckMessageID(e.MessageID); failure != nil {
		return reconkey.Key{}, failure
	}
	if failure := settle.CheckPresent(texts[2:7]); failure != nil {
		return reconkey.Key{}, failure
	}
	if e.Version < 0 {
		return reconkey.Key{}, invalidVersion("version", strconv.FormatInt(e.Version, 10))
	}
	if !IsInterval(e.SettlementInterval) {
		return reconkey.Key{}, settle.Structural(settle.ReasonInvalidInterval, "settlement_interval", e.SettlementInterval).
			WithDetail("want its start in UTC, written as 2019-06-19T04:00:00Z")
	}
	if e.LastModified != nil {
		if failure := settle.CheckDate("last_modified", *e.LastModified); failure != nil {
			return reconkey.Key{}, failure
		}
	}
	return reconkey.Trade(e.NodeID, e.SettlementInterval, e.TradeID), nil
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// ParseVersion reads a source's amendment number: digits only, from 0.
func ParseVersion(text string) (int64, *settle.Failure) {
	version, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, invalidVersion("version", text)
	}
	return int64(version), nil
}

// ModifiedVersion is the version of a trade whose source numbers none: the
// microseconds since the Unix epoch at which it was last modified.
func ModifiedVersion(lastModified int64) (int64, *settle.Failure) {
	if lastModified < 0 {
		return 0, invalidVersion("last_modified", strconv.FormatInt(lastModified, 10))
	}
	return lastModified, nil
}

func invalidVersion(field, text string) *settle.Failure {
	return settle.Structural(settle.ReasonInvalidVersion, field, text).
		WithDetail("want a number from 0 to %d", math.MaxInt64)
}

// intervalLayout is how the start of an interval is written, in UTC. Its
// characters are part of the keys, so there is no second way.
const intervalLayout = "2006-01-02T15:04:05Z"

// FormatInterval writes the start of an interval, which has no fraction of a
// second, whatever zone it's in.
func FormatInterval(start time.Time) string { return start.UTC().Format(intervalLayout) }

// IsInterval tells whether text is what FormatInterval writes of a moment in the
// years 1 to 9999. time.Parse alone would take more.
func IsInterval(text string) bool {
	start, err := time.Parse(intervalLayout, text)
	if err != nil || start.Year() < 1 {
		return false
	}
	var buffer [len(intervalLayout)]byte
	return string(start.AppendFormat(buffer[:0], intervalLayout)) == text
}
