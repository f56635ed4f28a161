// Package streams says which lanes there are, and what stream each settles.
package streams

import (
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/findings"
	"github.com/tieout/tieout/streams/sales"
	"github.com/tieout/tieout/streams/trades"
)

// Lanes returns all lanes. The two of sales settle into the same ledger; they
// are apart so that a long claim in the one never delays the other. A trade
// isn't disputed as it's settled, but when a statement disagrees: that's a
// finding, and every finding is a dispute.
func Lanes() []settle.Lane {
	claims := sales.New()
	ofClaims := settle.OutcomeTopics{
		AutoPost:   "recon.autopost",
		Dispute:    "recon.dispute",
		DeadLetter: "recon.dlq",
	}
	ofTrades := settle.OutcomeTopics{AutoPost: "etrm.autopost", DeadLetter: "etrm.dlq"}
	ofFindings := settle.OutcomeTopics{Dispute: "etrm.dispute", DeadLetter: "etrm.dlq"}
	return []settle.Lane{
		{Name: "validate", Topic: "recon.validate", Stream: claims, Topics: ofClaims},
		{Name: "accrue", Topic: "recon.accrue", Stream: claims, Topics: ofClaims},
		{Name: "trades", Topic: "etrm.trades", Stream: trades.New(), Topics: ofTrades},
		{Name: "findings", Topic: "etrm.findings", Stream: findings.New(), Topics: ofFindings},
	}
}
