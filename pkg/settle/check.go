package settle

import (
	"errors"

	"github.com/oklog/ulid/v2"

	"github.com/tieout/tieout/pkg/money"
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

// ParseDecimal reads a decimal that a line of a file states.
func ParseDecimal(field, text string) (money.Decimal, *Failure) {
	d, err := money.Parse(text)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, money.ErrTooManyFractionDigits):
		return d, Structural(ReasonTooManyFractionDigits, field, text).
			WithDetail("at most %d are kept, and nothing is rounded on the way in", money.MaxScale)
	case errors.Is(err, money.ErrOutOfRange):
		return d, Business(ReasonOutOfRange, field, text).WithDetail("it doesn't fit numeric(38,9)")
	}
	return d, Structural(ReasonNotADecimal, field, text)
}

// DecodeDecimal reads the bytes of a record's decimal. One that is out of range
// is a business failure, and stands beside it as the limit of the range with
// the right sign, so that a check of the sign can come first.
func DecodeDecimal(field string, unscaled []byte, scale int32) (money.Decimal, *Failure) {
	d, err := money.FromUnscaled(unscaled, scale)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, money.ErrOutOfRange):
		return d, Business(ReasonOutOfRange, field, "").WithDetail("%d bytes, which numeric(38,9) doesn't hold", len(unscaled))
	}
	return d, Structural(ReasonUndecodable, field, "").WithDetail("%v", err)
}
