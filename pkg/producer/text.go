package producer

import (
	"bytes"
	"errors"
	"io"
)

// maxLineBytes bounds what one line may hold in memory: a hundred times what a
// line with every column at its longest needs, with room for columns that are
// passed over.
const maxLineBytes = 1 << 20

// errLongLine is a line of text beyond maxLineBytes.
var errLongLine = errors.New("line too long")

const byteOrderMark = "\xef\xbb\xbf"

// A textBuffer shows what it reads line by line, and lets go of it only when
// it's consumed: a line that turns out not to be CSV is looked at twice.
type textBuffer struct {
	in    io.Reader
	inErr error // why nothing more comes; io.EOF in the usual case

	buffer     []byte // unread is buffer[start:end]
	start, end int
	lineBytes  int // of the line last shown, with its end

	lines int64 // consumed
	read  int64 // bytes consumed
}

func newTextBuffer(in io.Reader) textBuffer {
	return textBuffer{in: in, buffer: make([]byte, fileBufferBytes)}
}

// unread is what was read and not consumed.
func (b *textBuffer) unread() []byte { return b.buffer[b.start:b.end] }

// atEnd tells that nothing comes behind what is unread.
func (b *textBuffer) atEnd() bool { return errors.Is(b.inErr, io.EOF) }

// fill reads on. It fails only where there is nothing to be read, with io.EOF
// where that is how it should be.
func (b *textBuffer) fill() error {
	if b.inErr != nil {
		return b.inErr
	}
	b.end = copy(b.buffer, b.unread())
	b.start = 0
	if b.end == len(b.buffer) {
		b.buffer = append(b.buffer, make([]byte, len(b.buffer))...)
	}
	for range maxEmptyReads {
		var n int
		n, b.inErr = b.in.Read(b.buffer[b.end:])
		b.end += n
		switch {
		case n > 0, b.atEnd():
			return nil
		case b.inErr != nil:
			return b.inErr
		}
	}
	b.inErr = io.ErrNoProgress
	return b.inErr
}

// maxEmptyReads is how often a reader may give neither bytes nor an error.
const maxEmptyReads = 100

// line shows the next line of text without its end. Of one that is too long it
// shows the beginning.
func (b *textBuffer) line() ([]byte, error) {
	for scanned := 0; ; {
		unread := b.unread()
		newline := bytes.IndexByte(unread[scanned:], '\n')
		switch {
		case newline >= 0:
			b.lineBytes = scanned + newline + 1
			return b.shown(), nil
		case b.atEnd() && len(unread) > 0:
			b.lineBytes = len(unread)
			return b.shown(), nil
		case len(unread) >= maxLineBytes:
			return unread, errLongLine
		}
		scanned = len(unread)
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// shown is the line last shown, without its end.
func (b *textBuffer) shown() []byte {
	text := bytes.TrimSuffix(b.unread()[:b.lineBytes], []byte{'\n'})
	return bytes.TrimSuffix(text, []byte{'\r'})
}

// consumeLine lets go of the line last shown.
func (b *textBuffer) consumeLine() { b.consume(b.lineBytes, 1) }

// consume lets go of some lines.
func (b *textBuffer) consume(bytes, lines int) {
	b.start += bytes
	b.read += int64(bytes)
	b.lines += int64(lines)
}

// discardLine lets go of a line that is too long to be shown.
func (b *textBuffer) discardLine() error {
	for {
		unread := b.unread()
		if newline := bytes.IndexByte(unread, '\n'); newline >= 0 {
			b.consume(newline+1, 1)
			return nil
		}
		b.consume(len(unread), 0)
		err := b.fill()
		if errors.Is(err, io.EOF) {
			return nil // the next look will find the end
		}
		if err != nil {
			return err
		}
	}
}

// skipByteOrderMark passes over the mark that some programs put first.
func (b *textBuffer) skipByteOrderMark() error {
	for len(b.unread()) < len(byteOrderMark) && !b.atEnd() {
		if err := b.fill(); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(b.unread(), []byte(byteOrderMark)) {
		b.consume(len(byteOrderMark), 0)
	}
	return nil
}
