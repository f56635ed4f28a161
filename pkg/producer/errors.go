package producer

import (
	"errors"
	"fmt"
)

// What can be wrong with a file as a whole. A line that is wrong is no error:
// it's refused by a settle.Failure, and the rest goes on.
var (
	// ErrEmptyFile: there isn't even a header.
	ErrEmptyFile = errors.New("the file is empty: want a header and lines")
	// ErrNotRegular: a folder, a pipe or a device. What is read is read twice, and what
	// is written takes the place of what was there.
	ErrNotRegular = errors.New("not a regular file")
	// ErrDamagedGzip: it begins as gzip and doesn't go on as such.
	ErrDamagedGzip = errors.New("the gzip file is damaged")
	// ErrFileChanged: it was written to between the first reading and the end
	// of the last one.
	ErrFileChanged = errors.New("the file changed while it was read")
	// ErrNotRejects: a rejects file would take the place of another file.
	ErrNotRejects = errors.New("another file is there, which isn't one of refused lines")
	// ErrLink: a rejects file would take the place of a link, and not of the
	// file that it leads to.
	ErrLink = errors.New("a symbolic link: name the file itself")
	// ErrNoVendors: a file of vendors without a vendor would refuse every line.
	ErrNoVendors = errors.New("it names no vendor")
)

// A FileError is anything wrong with a file, and names it.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// A HeaderError is a header by which no line can be read.
type HeaderError struct{ Why string }

func (e *HeaderError) Error() string { return "the header " + e.Why }

// A BrokerError is Kafka being away, refusing the client, or not answering.
type BrokerError struct {
	Brokers string
	Err     error
}

func (e *BrokerError) Error() string { return fmt.Sprintf("Kafka at %s: %s", e.Brokers, e.Err) }
func (e *BrokerError) Unwrap() error { return e.Err }

// A TopicMissingError says that there is no such topic.
type TopicMissingError struct{ Topic string }

func (e *TopicMissingError) Error() string {
	return fmt.Sprintf("topic %s does not exist: run `tieout setup`", e.Topic)
}

// A SchemaMissingError says that the registry doesn't have the schema that
// records of a topic are written in.
type SchemaMissingError struct{ Subject string }

func (e *SchemaMissingError) Error() string {
	return fmt.Sprintf("the registry has no schema for subject %s, or another one: run `tieout setup`", e.Subject)
}

// A ManifestError says why a record isn't a manifest.
type ManifestError struct{ Err error }

func (e *ManifestError) Error() string { return "not a manifest: " + e.Err.Error() }
func (e *ManifestError) Unwrap() error { return e.Err }

// ErrInterrupted ends a delivery whose context ended.
var ErrInterrupted = errors.New("interrupted")

// A DeliveryError ends a delivery that may have sent something. To deliver the
// file again is safe.
type DeliveryError struct {
	Path         string
	Acknowledged int64 // lines
	Err          error
}

func (e *DeliveryError) Error() string {
	return fmt.Sprintf("%s: %s; acknowledged up to here: %d lines; send the file again, duplicates are skipped",
		e.Path, e.Err, e.Acknowledged)
}
func (e *DeliveryError) Unwrap() error { return e.Err }
