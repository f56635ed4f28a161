package reconkey

import (
	"crypto/sha256"
	"strings"
)

// separator stands between the parts of a sales identity.
const separator = '|'

// usualBytes is what an identity rarely exceeds, so that it's put together
// without the heap.
const usualBytes = 256

// Sales returns the key of a claim: the SHA-256 of its parts with | between
// them. It fails with a *SeparatorError where a part holds one.
func Sales(retailerInvoice, lineItemHash, promoTier, claimPeriod string) (Key, error) {
	var buffer [usualBytes]byte
	identity := buffer[:0]
	for i, part := range [...]struct{ name, value string }{
		{"retailer_invoice", retailerInvoice},
		{"line_item_hash", lineItemHash},
		{"promo_tier", promoTier},
		{"claim_period", claimPeriod},
	} {
		if strings.IndexByte(part.value, separator) >= 0 {
			return Key{}, &SeparatorError{Part: part.name, Value: part.value}
		}
		if i > 0 {
			identity = append(identity, separator)
		}
		identity = append(identity, part.value...)
	}
	return sha256.Sum256(identity), nil
}

// lastPeriod is the last numbered period of a year: 13 of four weeks each, as
// retail calendars count them; those with months end at 12.
const lastPeriod = 13

// CheckClaimPeriod tells whether text is a quarter, YYYY-Qn, or a numbered
// period, YYYY-Pnn with nn from 01 to 13.
func CheckClaimPeriod(text string) bool {
	const quarter, numbered = "YYYY-Qn", "YYYY-Pnn"
	if len(text) < len(quarter) || !isDigits(text[:4]) || text[4] != '-' {
		return false
	}
	number := text[6:]
	switch {
	case text[5] == 'Q' && len(text) == len(quarter):
		return "1" <= number && number <= "4"
	case text[5] == 'P' && len(text) == len(numbered) && isDigits(number):
		n := 10*(number[0]-'0') + number[1] - '0'
		return 1 <= n && n <= lastPeriod
	}
	return false
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
