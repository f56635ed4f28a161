package settle

import (
	"strconv"

	"github.com/oklog/ulid/v2"
)

// Checks that every stream makes, at the worker and before a record is
// enqueued.

// A Field is one text of a record, with the name that a failure calls it by.
type Field struct{ Name, Text string }

// CheckTexts finds the first field that isn't text at all; where there is none,
// the first that is too long.
func CheckTexts(fields []Field) *Failure {
	var tooLong *Failure
	for i := range fields {
		failure := CheckText(fields[i].Name, fields[i].Text)
		switch {
		case failure == nil:
		case failure.Reason != ReasonFieldTooLong:
			return failure
		case tooLong == nil:
			tooLong = failure
		}
	}
	return tooLong
}

// CheckPresent finds the first field that is empty.
func CheckPresent(fields []Field) *Failure {
	for i := range fields {
		if fields[i].Text == "" {
			return Structural(ReasonMissingField, fields[i].Name, "")
		}
	}
	return nil
}

// CheckMessageID tells whether a message id is a ULID.
func CheckMessageID(text string) *Failure {
	if _, err := ulid.ParseStrict(text); err != nil {
		return Structural(ReasonInvalidMessageID, "message_id", text).WithDetail("%v", err)
	}
	return nil
}

// CheckHeaders refuses the records that nothing here has asked for: those of a
// recalculation, since no run can be opened as one, and copies of a record that
// waits, since none does.
func CheckHeaders(record *Record) *Failure {
	for _, refused := range [...]struct {
		header string
		reason Reason
	}{
		{HeaderRunKind, ReasonUnknownRecalculation},
		{HeaderOrigin, ReasonUnknownOrigin},
		{HeaderRelease, ReasonUnknownOrigin},
	} {
		if value, ok := record.Header(refused.header); ok {
			return Structural(refused.reason, refused.header, string(value))
		}
	}
	return nil
}

// The first microsecond of the year 1 and of the year 10000, since the Unix
// epoch: dates that RFC 3339 can write and Postgres can keep.
const (
	firstDateMicros = -62_135_596_800_000_000
	endDateMicros   = 253_402_300_800_000_000
)

// CheckDate takes the microseconds of any moment in the years 1 to 9999.
func CheckDate(field string, micros int64) *Failure {
	if micros < firstDateMicros || micros >= endDateMicros {
		return Structural(ReasonInvalidDate, field, strconv.FormatInt(micros, 10)).
			WithDetail("these microseconds since 1970 are outside the years 1 to 9999")
	}
	return nil
}
