package settle

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Class says what may be done about a failure; each reason has one.
type Class string

const (
	// ClassStructural is about form: bytes, schema, key, dates, lengths.
	ClassStructural Class = "structural"
	// ClassBusiness is about content: tiers, units, conflicts.
	ClassBusiness Class = "business"
	// ClassTransient may pass by itself.
	ClassTransient Class = "transient"
)

// A Reason is the stable code of a failure, on dead letters, in rejects files
// and in metrics: the set is closed, so that it can label a series.
type Reason string

// Structural reasons.
const (
	ReasonInvalidWireFormat       Reason = "invalid_wire_format"
	ReasonUnknownSchema           Reason = "unknown_schema"
	ReasonRefusedSchema           Reason = "refused_schema"
	ReasonUndecodable             Reason = "undecodable"
	ReasonRecordTooLarge          Reason = "record_too_large"
	ReasonInvalidText             Reason = "invalid_text"
	ReasonFieldTooLong            Reason = "field_too_long"
	ReasonInvalidMessageID        Reason = "invalid_message_id"
	ReasonMissingField            Reason = "missing_field"
	ReasonInvalidAgreementVersion Reason = "invalid_agreement_version"
	ReasonInvalidClaimPeriod      Reason = "invalid_claim_period"
	ReasonInvalidVersion          Reason = "invalid_version"
	ReasonInvalidInterval         Reason = "invalid_interval"
	ReasonInvalidFinding          Reason = "invalid_finding"
	ReasonSeparatorInKeyPart      Reason = "separator_in_key_part"
	ReasonKeyMismatch             Reason = "key_mismatch"
	ReasonInvalidDate             Reason = "invalid_date"
	ReasonUnknownRecalculation    Reason = "unknown_recalculation"
	ReasonUnknownOrigin           Reason = "unknown_origin"
	ReasonRefusedByLedger         Reason = "refused_by_ledger"
)

// Business reasons.
const (
	ReasonInvalidPromoCode     Reason = "invalid_promo_code"
	ReasonNegativeUnits        Reason = "negative_units"
	ReasonNegativeRate         Reason = "negative_rate"
	ReasonUnsupportedCurrency  Reason = "unsupported_currency"
	ReasonOutOfRange           Reason = "out_of_range"
	ReasonVersionConflict      Reason = "version_conflict"
	ReasonConflictingDuplicate Reason = "conflicting_duplicate"
	ReasonSuperseded           Reason = "superseded"
)

// Reasons for which a line never becomes a record: the SDK refuses it.
const (
	ReasonNotADecimal           Reason = "not_a_decimal"
	ReasonTooManyFractionDigits Reason = "too_many_fraction_digits"
	ReasonMissingVersion        Reason = "missing_version"
	ReasonWrongFieldCount       Reason = "wrong_field_count"
	ReasonUnmappedVendor        Reason = "unmapped_vendor"
)

// A Failure is why a record, or a line to be one, can't be settled. It's a
// value, made once where it's known; it isn't an error of the program.
type Failure struct {
	Class  Class
	Reason Reason
	Field  string // empty where the whole record is at fault
	Value  string // the offending value, shortened to be shown
	Detail string // what is wrong, in words; may be empty
}

// Structural makes a failure of form.
func Structural(reason Reason, field, value string) *Failure {
	return &Failure{Class: ClassStructural, Reason: reason, Field: field, Value: shorten(value)}
}

// Business makes a failure of content.
func Business(reason Reason, field, value string) *Failure {
	return &Failure{Class: ClassBusiness, Reason: reason, Field: field, Value: shorten(value)}
}

// WithDetail returns the failure with words that say more than its reason.
func (f *Failure) WithDetail(format string, args ...any) *Failure {
	f.Detail = cutText(fmt.Sprintf(format, args...), maxDetailBytes)
	return f
}

// Message says the failure in one line, without its class.
func (f *Failure) Message() string {
	var b strings.Builder
	b.WriteString(string(f.Reason))
	if f.Field != "" {
		fmt.Fprintf(&b, ": %s %q", f.Field, f.Value)
	}
	if f.Detail != "" {
		b.WriteString(": ")
		b.WriteString(f.Detail)
	}
	return b.String()
}

// Bounds of what is kept beside a failure; the record itself is kept whole
// elsewhere.
const (
	maxShownBytes  = 128
	maxDetailBytes = 512
)

// shorten makes any bytes into a value to be shown.
func shorten(value string) string { return cutText(value, maxShownBytes) }

// cutText makes any bytes into text that every sink takes: valid UTF-8, no
// NUL, bounded.
func cutText(text string, limit int) string {
	if len(text) > limit {
		cut := limit
		for cut > limit-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ReplaceAll(text, "\x00", "\uFFFD")
}
