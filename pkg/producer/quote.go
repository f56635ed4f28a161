package producer

import "bytes"

// What is wrong with a line's quotes, as the rejects file says it.
const (
	problemUnclosed   = "a quote that opens a field is not closed"
	problemAfterQuote = "text behind the quote that closes a field"
	problemBareQuote  = "a quote inside of a field that is not quoted"
	problemBareReturn = "a carriage return inside of a field that is not quoted"
)

// A quoteScan takes one line of CSV apart that has quotes in it.
type quoteScan struct {
	in    []byte
	atEnd bool // nothing comes behind in

	fields   []string
	at       int
	newlines int    // lines of text behind at
	short    bool   // in ends before the line does
	problem  string // what isn't CSV; empty where all is well
}

// run scans field by field. Behind it, at is behind the line's end.
func (s *quoteScan) run() {
	for more := true; more && s.problem == "" && !s.short; {
		if s.at < len(s.in) && s.in[s.at] == '"' {
			s.quotedField()
		} else {
			s.plainField()
		}
		if s.problem == "" && !s.short {
			more = s.separator()
		}
	}
}

// plainField takes what stands before the next comma or line's end.
func (s *quoteScan) plainField() {
	rest := s.in[s.at:]
	length := bytes.IndexAny(rest, ",\n")
	if length < 0 {
		if s.short = !s.atEnd; s.short {
			return
		}
		length = len(rest)
	}
	field := rest[:length]
	if length == len(rest) || rest[length] == '\n' {
		field = bytes.TrimSuffix(field, []byte{'\r'})
	}
	switch {
	case bytes.IndexByte(field, '"') >= 0:
		s.problem = problemBareQuote
	case bytes.IndexByte(field, '\r') >= 0:
		s.problem = problemBareReturn
	}
	s.fields = append(s.fields, string(field))
	s.at += len(field)
}

// quotedField takes what stands between quotes; two of them are one.
func (s *quoteScan) quotedField() {
	var field []byte
	s.at++
	for {
		quote := bytes.IndexByte(s.in[s.at:], '"')
		if quote < 0 {
			if s.short = !s.atEnd; !s.short {
				s.problem = problemUnclosed
			}
			return
		}
		part := s.in[s.at : s.at+quote]
		s.newlines += bytes.Count(part, []byte{'\n'})
		field = append(field, part...)
		s.at += quote + 1
		if s.at == len(s.in) || s.in[s.at] != '"' {
			break
		}
		field = append(field, '"')
		s.at++
	}
	s.fields = append(s.fields, string(field))
}

// separator takes what stands behind a field, and tells if a field follows.
func (s *quoteScan) separator() (more bool) {
	rest := s.in[s.at:]
	switch {
	case len(rest) == 0:
		s.short = !s.atEnd
	case rest[0] == ',':
		s.at++
		return true
	case rest[0] == '\n':
		s.at++
		s.newlines++
	case bytes.HasPrefix(rest, []byte("\r\n")):
		s.at += 2
		s.newlines++
	case len(rest) == 1 && rest[0] == '\r':
		s.short = !s.atEnd
		s.at++
	default:
		s.problem = problemAfterQuote
	}
	return false
}
