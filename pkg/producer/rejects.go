package producer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tieout/tieout/pkg/settle"
)

// Rejects is the file of refused lines: for each its line number, the field and
// value at fault and the reason, then the line's own columns as they stood.
// Mended, it can be sent like any other file. It appears whole, or not at all.
type Rejects struct {
	path    string
	file    *File // whose lines they are
	columns []string
	partial *os.File // takes the path's place when all lines are read
	csv     *csv.Writer
	count   int64
}

// DefaultRejectsPath is where a file's refused lines go.
func DefaultRejectsPath(file *File) string { return file.path + ".rejects.csv" }

// NewRejects prepares a rejects file at path, readable by whoever can read the
// file that it's for; columns are that file's. It begins it beside its place,
// so that a folder that can't be written to shows before anything is sent.
// Only an earlier rejects file may be replaced: another file that stands at
// path is left alone (ErrNotRejects), and so is what isn't a file (a device, a
// pipe: ErrNotRegular) or is a link (ErrLink).
func NewRejects(path string, file *File, columns []string) (*Rejects, error) {
	if err := checkReplaceable(path, file); err != nil {
		return nil, unwritable(path, err)
	}
	partial, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, unwritable(path, err)
	}
	r := &Rejects{path: path, file: file, columns: columns, partial: partial, csv: csv.NewWriter(partial)}
	if err := partial.Chmod(file.info.Mode().Perm() | ownerCanWrite); err != nil {
		return nil, errors.Join(r.failed(err), r.Discard())
	}
	return r, nil
}

const ownerCanWrite = 0o200

// checkReplaceable tells whether a rejects file may take the place at path:
// there is nothing, or an earlier one. It's looked at before it's opened, since
// to open a pipe would wait for a writer and to open a device may do anything.
// A link isn't followed: a rename would replace the link itself, and leave what
// it leads to as it was.
func checkReplaceable(path string, file *File) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return ErrLink
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case os.SameFile(info, file.info):
		return ErrNotRejects
	}
	return checkBeginning(path)
}

// checkBeginning tells whether a file begins as a rejects file does. An empty
// one doesn't: it's somebody else's, whatever it's for.
func checkBeginning(path string) (err error) {
	there, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	header := strings.Join(rejectsColumns(), ",") + ","
	beginning, err := io.ReadAll(io.LimitReader(there, int64(len(header))))
	if err != nil {
		return err
	}
	if string(beginning) != header {
		return ErrNotRejects
	}
	return nil
}

// Add writes one refused line.
func (r *Rejects) Add(line Line, failure *settle.Failure) error {
	if r.count == 0 {
		if err := r.csv.Write(slices.Concat(rejectsColumns(), r.columns)); err != nil {
			return r.failed(err)
		}
	}
	r.count++
	why := []string{strconv.FormatInt(line.Number, 10), failure.Field, failure.Value, string(failure.Reason)}
	if err := r.csv.Write(append(why, line.Original...)); err != nil {
		return r.failed(err)
	}
	return nil
}

// Commit puts the file into its place. Where no line was refused it takes away
// the one of an earlier try. What came to stand there meanwhile is left alone,
// as it would have been at the beginning.
func (r *Rejects) Commit() error {
	if err := checkReplaceable(r.path, r.file); err != nil {
		return errors.Join(r.failed(err), r.Discard())
	}
	if r.count == 0 {
		err := r.Discard()
		if removal := os.Remove(r.path); removal != nil && !errors.Is(removal, fs.ErrNotExist) {
			err = errors.Join(err, r.failed(removal))
		}
		return err
	}
	r.csv.Flush()
	if err := errors.Join(r.csv.Error(), r.partial.Sync(), r.partial.Close()); err != nil {
		return errors.Join(r.failed(err), os.Remove(r.partial.Name()))
	}
	if err := os.Rename(r.partial.Name(), r.path); err != nil {
		return errors.Join(r.failed(err), os.Remove(r.partial.Name()))
	}
	return nil
}

// Discard leaves everything as it was before.
func (r *Rejects) Discard() error {
	if err := errors.Join(r.partial.Close(), os.Remove(r.partial.Name())); err != nil {
		return r.failed(err)
	}
	return nil
}

func unwritable(path string, err error) error {
	return fmt.Errorf("write refused lines: %w", &FileError{Path: path, Err: withoutPath(err)})
}

func (r *Rejects) failed(err error) error {
	return unwritable(r.path, err)
}
