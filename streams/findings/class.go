package findings

// A Class says what explains a difference between a statement and the ledger.
type Class string

// The classes: the symbols of the schema's enumeration.
const (
	// Rounding: they differ by a cent at most, and the statement's amount is the
	// exact product, rounded in another way.
	Rounding Class = "rounding"
	// Quantity: the statement states another quantity.
	Quantity Class = "quantity"
	// Price: the statement states another price.
	Price Class = "price"
	// StaleVersion: the statement's amount is that of an older version.
	StaleVersion Class = "stale_version"
	// MissingInLedger: the ledger has no such trade.
	MissingInLedger Class = "missing_in_ledger"
	// MissingInStatement: the statement has no such line.
	MissingInStatement Class = "missing_in_statement"
	// DuplicateInStatement: the statement has more than one such line.
	DuplicateInStatement Class = "duplicate_in_statement"
	// Amount: the amounts differ, and none of the others explains it.
	Amount Class = "amount"
)

// Classes lists the classes.
func Classes() []Class {
	return []Class{Rounding, Quantity, Price, StaleVersion, MissingInLedger, MissingInStatement, DuplicateInStatement, Amount}
}

// hasStatement and hasLedger tell whether a finding of the class has an amount
// of that side; maybe says that it may or may not.
func (c Class) hasStatement() presence {
	if c == MissingInStatement {
		return absent
	}
	return present
}

func (c Class) hasLedger() presence {
	switch c {
	case MissingInLedger:
		return absent
	case DuplicateInStatement:
		return maybe
	}
	return present
}

// A presence says whether something is there.
type presence int

const (
	present presence = iota
	absent
	maybe
)

// allows tells whether it may be so.
func (p presence) allows(there bool) bool {
	return p == maybe || there == (p == present)
}
