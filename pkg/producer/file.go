package producer

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
)

// A File is a file of lines: CSV, gzipped or not, told apart by its content and
// not by its name. It's read whole once when it's opened: that gives the digest
// that names its run, and shows damage before anything is sent.
type File struct {
	path   string
	file   *os.File
	info   fs.FileInfo
	gzip   bool
	size   int64
	digest [sha256.Size]byte
}

// OpenFile opens a file of lines. Only a regular file will do: it's read more
// than once.
func OpenFile(ctx context.Context, path string) (*File, error) {
	f := &File{path: path}
	var err error
	// Looked at before it's opened: to open a pipe would wait for a writer.
	if f.info, err = os.Stat(path); err != nil {
		return nil, f.failed(err)
	}
	if !f.info.Mode().IsRegular() {
		return nil, f.failed(ErrNotRegular)
	}
	if f.file, err = os.Open(path); err != nil {
		return nil, f.failed(err)
	}
	if err := f.inspect(ctx); err != nil {
		return nil, errors.Join(err, f.file.Close())
	}
	return f, nil
}

// inspect reads the file whole.
func (f *File) inspect(ctx context.Context) error {
	var magic [2]byte
	n, err := f.file.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return f.failed(err)
	}
	f.gzip = string(magic[:n]) == gzipMagic

	text, err := f.text()
	if err != nil {
		return err
	}
	if err := f.hash(ctx, text); err != nil {
		return f.failed(err)
	}
	if f.size == 0 {
		return f.failed(ErrEmptyFile)
	}
	return nil
}

// hash reads the text for its size and digest.
func (f *File) hash(ctx context.Context, text io.Reader) error {
	digest := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(digest, text, hashedBytes)
		f.size += n
		if errors.Is(err, io.EOF) {
			digest.Sum(f.digest[:0])
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hashedBytes are read between two looks at the context.
const hashedBytes = 1 << 20

const gzipMagic = "\x1f\x8b"

// text reads the file's text from its beginning.
func (f *File) text() (io.Reader, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, f.failed(err)
	}
	if !f.gzip {
		return f.file, nil
	}
	unzipped, err := gzip.NewReader(bufio.NewReaderSize(f.file, fileBufferBytes))
	if err != nil {
		return nil, f.failed(err)
	}
	return unzipped, nil
}

// fileBufferBytes is read from disk at a time: more brings nothing.
const fileBufferBytes = 64 << 10

// Lines begins to read the file's lines from the first one; it ends an earlier
// reading. columns are those that the header must have.
func (f *File) Lines(columns Columns) (*LineReader, error) {
	text, err := f.text()
	if err != nil {
		return nil, err
	}
	lines, err := NewLineReader(&unchangedReader{file: f, text: text, digest: sha256.New()}, columns)
	if err != nil {
		return nil, f.failed(err)
	}
	return lines, nil
}

// Path is the file's name as it was given.
func (f *File) Path() string { return f.path }

// Size is the number of bytes of text, unzipped.
func (f *File) Size() int64 { return f.size }

// Digest is the SHA-256 of the text: the same for a file and its gzipped copy.
func (f *File) Digest() [sha256.Size]byte { return f.digest }

// DefaultRunID names the run of this content for a stream, so that the same
// file is the same run however often it's sent.
func (f *File) DefaultRunID(stream string) string {
	return fmt.Sprintf("%s-%x", stream, f.digest[:8])
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// failed names the file in an error, and says what damage to gzip means.
func (f *File) failed(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case f.gzip && errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: it ends too early (%w)", ErrDamagedGzip, err)
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		err = fmt.Errorf("%w (%w)", ErrDamagedGzip, err)
	}
	return &FileError{Path: f.path, Err: withoutPath(err)}
}

// withoutPath drops the path that os puts into its errors: it's named already.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// An unchangedReader reads a file again, and fails at its end if the text isn't
// what it was: then the run's name and what was sent don't belong together.
type unchangedReader struct {
	file   *File
	text   io.Reader
	digest hash.Hash
}

// Read implements io.Reader.
func (r *unchangedReader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	r.digest.Write(p[:n])
	if errors.Is(err, io.EOF) && !bytes.Equal(r.digest.Sum(nil), r.file.digest[:]) {
		return n, ErrFileChanged
	}
	return n, err
}
