package devstack

import "fmt"

// A PortInUseError says that a port asked for is taken.
type PortInUseError struct {
	Service string // "Postgres", "Kafka" or "the schema registry"
	Port    int
}

func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d, asked for %s, is in use", e.Port, e.Service)
}

// A DataInUseError says that another process works in a data folder.
type DataInUseError struct {
	Dir string
}

func (e *DataInUseError) Error() string {
	return fmt.Sprintf("the data folder %s is in use by another process", e.Dir)
}

// A DataVersionError says that a data folder was made by a Postgres of
// another major version than any at hand: only that one can read it.
type DataVersionError struct {
	Dir   string
	Major int
}

func (e *DataVersionError) Error() string {
	return fmt.Sprintf("the data in %s is of Postgres %d, which isn't on this machine: install it or choose another folder",
		e.Dir, e.Major)
}

// A NoPostgresError says that Postgres is neither on this machine nor could
// be downloaded.
type NoPostgresError struct {
	Cause error // why it couldn't be downloaded; nil where that wasn't wanted
}

func (e *NoPostgresError) Error() string {
	text := fmt.Sprintf("there is no Postgres here: install %d or newer, or set DATABASE_URL", oldestMajor)
	if e.Cause != nil {
		text += fmt.Sprintf(" (%v)", e.Cause)
	}
	return text
}

// Unwrap gives the reason why it couldn't be downloaded.
func (e *NoPostgresError) Unwrap() error { return e.Cause }

// A ChecksumError says that a download isn't what was pinned. Nothing of it
// was kept or run.
type ChecksumError struct {
	Address   string
	Want, Got string // SHA-256 in hex
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has the SHA-256 %s instead of %s", e.Address, e.Got, e.Want)
}

// A ClosedFolderError says that the account which Postgres runs as can't
// enter a folder. Postgres refuses to run as root.
type ClosedFolderError struct {
	Dir     string // the folder that is closed
	Wanted  string // what lies in it
	Account string
}

func (e *ClosedFolderError) Error() string {
	return fmt.Sprintf("as root, Postgres runs as the user %s, who may not enter %s on the way to %s: choose another folder",
		e.Account, e.Dir, e.Wanted)
}

// A StartError says that Postgres ended, or that initdb failed, instead of
// coming up.
type StartError struct {
	Command string // "initdb" or "postgres"
	Said    string // the line of its output that says why
	Cause   error
}

func (e *StartError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%s failed: %v", e.Command, e.Cause)
	}
	return fmt.Sprintf("%s failed: %s", e.Command, e.Said)
}

// Unwrap gives how the process ended.
func (e *StartError) Unwrap() error { return e.Cause }
