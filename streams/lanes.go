// Package streams says which lanes there are, and what stream each settles.
package streams

import (
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

// Lanes returns all lanes. The two of sales settle into the same ledger; they
// are apart so that a long claim in the one never delays the other.
func Lanes() []settle.Lane {
	claims := sales.New()
	outcomes := settle.OutcomeTopics{
		AutoPost:   "recon.autopost",
		Dispute:    "recon.dispute",
		DeadLetter: "recon.dlq",
	}
	return []settle.Lane{
		{Name: "validate", Topic: "recon.validate", Stream: claims, Topics: outcomes},
		{Name: "accrue", Topic: "recon.accrue", Stream: claims, Topics: outcomes},
	}
}
