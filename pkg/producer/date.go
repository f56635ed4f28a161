package producer

import (
	"strings"
	"time"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/trades"
)

// parseDate reads an RFC 3339 date and time with its zone, as microseconds
// since the Unix epoch. What is finer than a microsecond is refused and not
// cut.
func parseDate(field, text string) (int64, *settle.Failure) {
	if text == "" {
		return 0, settle.Structural(settle.ReasonMissingField, field, "")
	}
	date, fraction, ok := parseTime(text)
	if !ok {
		return 0, settle.Structural(settle.ReasonInvalidDate, field, text).
			WithDetail("want a date of RFC 3339 with its zone, such as 2010-12-01T08:26:00Z")
	}
	if len(strings.TrimRight(fraction, "0")) > microDigits {
		return 0, settle.Structural(settle.ReasonInvalidDate, field, text).
			WithDetail("it is finer than a microsecond")
	}
	return date.UnixMicro(), nil
}

// ParseInterval reads the start of a settlement interval in any zone, and writes
// it in the one way that keys are made of.
func ParseInterval(field, text string) (string, *settle.Failure) {
	if text == "" {
		return "", settle.Structural(settle.ReasonMissingField, field, "")
	}
	start, fraction, ok := parseTime(text)
	if !ok {
		return "", settle.Structural(settle.ReasonInvalidInterval, field, text).
			WithDetail("want its start in RFC 3339 with a zone, such as 2019-06-19T00:00:00-04:00")
	}
	if fraction != "" {
		return "", settle.Structural(settle.ReasonInvalidInterval, field, text).
			WithDetail("it has a fraction of a second")
	}
	return trades.FormatInterval(start), nil
}

// parseTime reads a date and time as RFC 3339 has it, and the digits behind its
// seconds.
func parseTime(text string) (date time.Time, fraction string, ok bool) {
	date, err := time.Parse(time.RFC3339, text)
	if err != nil || !hasDateForm(text) {
		return time.Time{}, "", false
	}
	fraction, _ = behindSeconds(text)
	return date, fraction, true
}

const (
	// dateForm has a 0 for each digit; a fraction and the zone come behind it.
	dateForm = "0000-00-00T00:00:00"
	zoneForm = "00:00"

	// microDigits is how many digits the fraction of a second may have, zeros
	// behind them aside.
	microDigits = 6
)

// hasDateForm tells whether text is written as RFC 3339 has it. time.Parse also
// takes hours of one digit, a comma before the fraction, and zones that are a
// day away.
func hasDateForm(text string) bool {
	if !hasForm(text, dateForm) {
		return false
	}
	_, zone := behindSeconds(text)
	if zone == "Z" {
		return true
	}
	if zone == "" || zone[0] != '+' && zone[0] != '-' {
		return false
	}
	offset := zone[1:]
	return len(offset) == len(zoneForm) && hasForm(offset, zoneForm) && offset[:2] < "24" && offset[3:] < "60"
}

// behindSeconds returns what comes behind the seconds: the digits of their
// fraction, if any, and the rest.
func behindSeconds(text string) (fraction, zone string) {
	rest := text[len(dateForm):]
	digits, ok := strings.CutPrefix(rest, ".")
	zone = strings.TrimLeft(digits, "0123456789")
	if fraction = strings.TrimSuffix(digits, zone); !ok || fraction == "" {
		return "", rest
	}
	return fraction, zone
}

// hasForm tells whether text begins as form does, with any digit for a 0.
func hasForm(text, form string) bool {
	if len(text) < len(form) {
		return false
	}
	for i := range len(form) {
		isDigit := '0' <= text[i] && text[i] <= '9'
		if form[i] == '0' && !isDigit || form[i] != '0' && text[i] != form[i] {
			return false
		}
	}
	return true
}
