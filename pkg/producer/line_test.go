package producer

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tieout/tieout/pkg/settle"
)

// A seenLine is what a test expects of one line.
type seenLine struct {
	Number  int64
	Values  []string
	Refused string // reason and value
	Raw     []string
}

func seenLines(t require.TestingT, in io.Reader, columns ...string) []seenLine {
	lines, err := NewLineReader(in, Columns{Required: columns})
	require.NoError(t, err)
	return readLines(t, lines)
}

func readLines(t require.TestingT, lines *LineReader) (seen []seenLine) {
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return seen
		}
		require.NoError(t, err)
		one := seenLine{Number: line.Number, Values: append([]string(nil), line.Values...)}
		if line.Failure != nil {
			one.Refused = string(line.Failure.Reason) + ": " + line.Failure.Value
			one.Raw = append([]string(nil), line.Original...)
		}
		seen = append(seen, one)
	}
}

const wrongCount = string(settle.ReasonWrongFieldCount) + ": "

func TestLines_AreToldApartAndNumberedAsInTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []seenLine
	}{
		"LF": {"a,b\n1,2\n3,4\n", []seenLine{
			{Number: 2, Values: []string{"1", "2"}}, {Number: 3, Values: []string{"3", "4"}},
		}},
		"CRLF, and no end behind the last line": {"a,b\r\n1,2\r\n3,4", []seenLine{
			{Number: 2, Values: []string{"1", "2"}}, {Number: 3, Values: []string{"3", "4"}},
		}},
		"byte order mark": {"\xef\xbb\xbfa,b\n1,2\n", []seenLine{{Number: 2, Values: []string{"1", "2"}}}},
		"columns in any order, others passed over": {"x,b,y,a\n0,2,0,1\n", []seenLine{
			{Number: 2, Values: []string{"1", "2"}},
		}},
		"empty lines count and are passed over": {"\n\na,b\n\r\n1,2\n\n\n3,4\n\n", []seenLine{
			{Number: 5, Values: []string{"1", "2"}}, {Number: 8, Values: []string{"3", "4"}},
		}},
		"nothing but a header":     {"a,b\n", nil},
		"empty fields":             {"a,b\n,\n\"\",\"\"\n", []seenLine{{Number: 2, Values: []string{"", ""}}, {Number: 3, Values: []string{"", ""}}}},
		"spaces are kept":          {"a,b\n 1 ,\t2\n", []seenLine{{Number: 2, Values: []string{" 1 ", "\t2"}}}},
		"quotes":                   {"a,b\n\"1,5\",\"say \"\"no\"\"\"\n", []seenLine{{Number: 2, Values: []string{"1,5", `say "no"`}}}},
		"quoted line ends, as are": {"a,b\n\"1\r\n1\n1\",2\r\n3,4\n", []seenLine{{Number: 2, Values: []string{"1\r\n1\n1", "2"}}, {Number: 5, Values: []string{"3", "4"}}}},
		"quoted header":            {"\"a\",\"b\"\r\n1,2\n", []seenLine{{Number: 2, Values: []string{"1", "2"}}}},
		"U+2028 ends no line":      {"a,b\n1\u20281,2\n", []seenLine{{Number: 2, Values: []string{"1\u20281", "2"}}}},
		"a quoted field at the end": {"a,b\n1,\"2\"", []seenLine{
			{Number: 2, Values: []string{"1", "2"}},
		}},
		"too few and too many fields": {"a,b\n1\n1,2,3\n1,2\n", []seenLine{
			{Number: 2, Refused: wrongCount + "1 fields instead of 2", Raw: []string{"1"}},
			{Number: 3, Refused: wrongCount + "3 fields instead of 2", Raw: []string{"1", "2", "3"}},
			{Number: 4, Values: []string{"1", "2"}},
		}},
		"a mended rejects file": {"line,field,value,reason,a,b\n7,a,x,not_a_decimal,1,2\n8,,,,1\n", []seenLine{
			{Number: 2, Values: []string{"1", "2"}},
			{Number: 3, Refused: wrongCount + "5 fields instead of 6", Raw: []string{"1"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(test.want, seenLines(t, strings.NewReader(test.text), "a", "b")))
			oneByte := iotest.OneByteReader(strings.NewReader(test.text))
			require.Empty(t, cmp.Diff(test.want, seenLines(t, oneByte, "a", "b")), "read byte by byte")
		})
	}
}

func TestLines_WhatIsNotCSVCostsOneLineOfText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ line, problem string }{
		"a quote that is never closed":      {`1,"2`, problemUnclosed},
		"one that closes lines later":       {`"1,2`, problemAfterQuote},
		"text behind a closing quote":       {`"1"1,2`, problemAfterQuote},
		"a space behind a closing quote":    {`"1" ,2`, problemAfterQuote},
		"a quote inside of a plain field":   {`1,2"`, problemBareQuote},
		"a return inside of a plain field":  {"1\r1,2", problemBareReturn},
		"the same beside a quoted field":    {"1\r1,\"2\"", problemBareReturn},
		"two returns at the end of a line":  {"1,2\r", problemBareReturn},
		"a return behind the closing quote": {"1,\"2\"\r,", problemAfterQuote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind := "3,4\n"
			if test.problem == problemAfterQuote {
				behind = "3,\"4\"\n" // what closes the quote, by accident
			}
			text := "a,b\n1,2\n" + test.line + "\r\n" + behind
			require.Empty(t, cmp.Diff([]seenLine{
				{Number: 2, Values: []string{"1", "2"}},
				{Number: 3, Refused: wrongCount + test.problem, Raw: []string{test.line}},
				{Number: 4, Values: []string{"3", "4"}},
			}, seenLines(t, strings.NewReader(text), "a", "b")))
		})
	}
}

func TestLines_HoldABoundedPieceOfTheFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLineBytes)
	for name, test := range map[string]struct {
		text string
		want []seenLine
	}{
		"a line that is too long": {"a,b\n1," + long + long + "\n3,4\n", []seenLine{
			{Number: 2, Refused: "field_too_long: 1," + long[:126] + "..."}, {Number: 3, Values: []string{"3", "4"}},
		}},
		"one at the end": {"a,b\n1," + long, []seenLine{
			{Number: 2, Refused: "field_too_long: 1," + long[:126] + "..."},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, err := NewLineReader(strings.NewReader(test.text), Columns{Required: []string{"a", "b"}})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.want, readLines(t, lines)))
			require.LessOrEqual(t, cap(lines.text.buffer), 2*maxLineBytes)
			require.EqualValues(t, len(test.text), lines.BytesRead())
		})
	}
}

func TestLines_BehindAQuoteThatIsNeverClosedGoOn(t *testing.T) {
	t.Parallel()
	const behind = maxLineBytes / 4
	text := "a,b\n\"1,2\n" + strings.Repeat("3,4\n", behind) + "5,\"6\"\n"
	lines, err := NewLineReader(strings.NewReader(text), Columns{Required: []string{"a", "b"}})
	require.NoError(t, err)
	seen := readLines(t, lines)
	require.Len(t, seen, 1+behind+1)
	require.Equal(t, seenLine{Number: 2, Refused: wrongCount + problemUnclosed, Raw: []string{`"1,2`}}, seen[0])
	require.Equal(t, seenLine{Number: 3, Values: []string{"3", "4"}}, seen[1])
	require.Equal(t, seenLine{Number: 3 + behind, Values: []string{"5", "6"}}, seen[1+behind])
	require.LessOrEqual(t, cap(lines.text.buffer), 2*maxLineBytes)
}

func TestLines_ReadErrorIsNoEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, text := range []string{"a,b\n1,2\n3", "a,b\n1,2\n3,\"4"} {
		lines, err := NewLineReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), Columns{Required: []string{"a"}})
		require.NoError(t, err)
		_, err = lines.Read()
		require.NoError(t, err)
		_, err = lines.Read()
		require.ErrorIs(t, err, broken, "half a line isn't a line")
	}
}

func TestHeader_SaysWhatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty file":         {"", "the file is empty: want a header and lines"},
		"only a mark":        {"\xef\xbb\xbf", "the file is empty: want a header and lines"},
		"only empty lines":   {"\n\r\n", "the file is empty: want a header and lines"},
		"lacks a column":     {"a,c\n", "the header lacks the column b"},
		"spelt differently":  {"a, B\n", `the header lacks the column b: it has " B", and names must be equal`},
		"semicolons":         {"a;b\n", "the header lacks the column a: fields must be separated by commas"},
		"optional, spelt so": {"a,b,D\n", `the header lacks the column d: it has "D", and names must be equal`},
		"optional twice":     {"a,d,b,d\n", "the header has the column d twice"},
		"has one twice":      {"a,b,a\n", "the header has the column a twice"},
		"is not UTF-8":       {"a,b,\xff\n", "the header isn't UTF-8 text"},
		"UTF-16":             {"\xff\xfea\x00,\x00b\x00\n\x00", "the header isn't UTF-8 text"},
		"is not CSV":         {"a,\"b\n", "the header on line 1 isn't CSV: a quote that opens a field is not closed"},
		"tieout's own field": {"a,b,message_id\n", "the header has the column message_id, which tieout fills in: take it out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewLineReader(strings.NewReader(test.text), Columns{
				Required: []string{"a", "b"}, Optional: []string{"d"}, Reserved: reservedColumns(),
			})
			require.EqualError(t, err, test.want)
		})
	}
}

func TestHeader_NamesTheColumnsThatAreNotUsed(t *testing.T) {
	t.Parallel()
	lines, err := NewLineReader(strings.NewReader("line,field,value,reason,note,a,,\n"), Columns{Required: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"note"}, lines.Unused())
	require.Equal(t, []string{"note", "a", "", ""}, lines.Columns())
}

func TestHeader_OptionalColumnsAreEmptyWhereTheFileLacksThem(t *testing.T) {
	t.Parallel()
	columns := Columns{Required: []string{"a"}, Optional: []string{"d", "e"}}
	for text, want := range map[string][]string{
		"a\n1\n":         {"1", "", ""},
		"e,a\n2,1\n":     {"1", "", "2"},
		"d,a,e\n3,1,2\n": {"1", "3", "2"},
	} {
		lines, err := NewLineReader(strings.NewReader(text), columns)
		require.NoError(t, err)
		require.Empty(t, lines.Unused())
		line, err := lines.Read()
		require.NoError(t, err)
		require.Equal(t, want, line.Values)
	}
}

// Whatever stands in the fields, quoted as RFC 4180 has it, comes back byte by
// byte, wherever the reads end.
func TestLines_GiveBackEveryByteOfAQuotedField(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringOf(rapid.SampledFrom([]rune("a,\"\r\n é🧾\x00")))
		want := rapid.SliceOfN(rapid.SliceOfN(field, 2, 2), 0, 8).Draw(t, "lines")
		lineEnd := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
		var text strings.Builder
		text.WriteString("a,b" + lineEnd)
		for _, fields := range want {
			for i, f := range fields {
				if i > 0 {
					text.WriteByte(',')
				}
				text.WriteString(`"` + strings.ReplaceAll(f, `"`, `""`) + `"`)
			}
			text.WriteString(lineEnd)
		}
		in := iotest.HalfReader(iotest.DataErrReader(strings.NewReader(text.String())))
		seen := seenLines(t, in, "a", "b")
		require.Len(t, seen, len(want))
		for i, line := range seen {
			require.Empty(t, line.Refused)
			require.Equal(t, want[i], line.Values)
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "a,b\r\n\"1\"\"\",\"2\r\n\"\r\n", "a,b\n\"1,2\n3,4\n", "a,b\n1\"\n\r,\"\r"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := NewLineReader(strings.NewReader(string(text)), Columns{Required: []string{"a"}})
		if err != nil {
			return
		}
		number := int64(1)
		for {
			line, err := lines.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.Greater(t, line.Number, number, "line numbers only grow")
			require.NotEqual(t, line.Failure == nil, line.Values == nil, "a line is told apart or refused")
			number = line.Number
		}
		require.EqualValues(t, len(text), lines.BytesRead(), "every byte is some line's")
	})
}
