package settle

// An Entry is one record on its way through a batch: first what arrived, then
// what Settle made of it, then what the ledger said.
type Entry struct {
	Record   Record
	Delivery Delivery

	// Posting is valid where Failure is nil.
	Posting Posting
	Failure *Failure

	// Outcome is set by the ledger: AutoPost or Dispute where the posting is in
	// it, DuplicateSkipped, or DeadLetter with Failure set.
	Outcome Outcome
}
