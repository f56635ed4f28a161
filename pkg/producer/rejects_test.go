package producer

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
)

// refuse goes over a file and refuses every line whose column a isn't "good".
func refuse(t *testing.T, path, rejectsPath string) (Tally, []string, error) {
	t.Helper()
	file := opened(t, path)
	lines, err := file.Lines(Columns{Required: []string{"a", "b"}})
	require.NoError(t, err)
	rejects, err := NewRejects(rejectsPath, file, lines.Columns())
	if err != nil {
		return Tally{}, nil, err
	}
	var accepted []string
	tally, err := pass{file: file, columns: Columns{Required: []string{"a", "b"}}, rejects: rejects, handle: func(line Line) (*settle.Failure, error) {
		if line.Values[0] != "good" {
			return settle.Structural(settle.ReasonNotADecimal, "a", line.Values[0]), nil
		}
		accepted = append(accepted, strings.Join(line.Values, "|"))
		return nil, nil
	}}.run(t.Context())
	require.NoError(t, err)
	return tally, accepted, rejects.Commit()
}

const badAndGood = "b,a,note\r\n1,good,n\r\n" + // 2
	"\"2\r\n2\",\" x,\"\"y\"\"\",\r\n" + // 3 and 4
	"3,good\r\n" + // 5
	"4,good,n,n\r\n" + // 6
	"5\",good,n\r\n" + // 7
	"\xff,\xff,é\r\n" + // 8
	"6,good,n" // 9

func TestRejects_SayWhatIsWrongAndKeepTheLineAsItStood(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	rejectsPath := path + ".rejects.csv"
	tally, accepted, err := refuse(t, path, rejectsPath)
	require.NoError(t, err)
	require.EqualValues(t, 7, tally.Lines)
	require.EqualValues(t, 5, tally.RefusedTotal())
	require.Equal(t, map[settle.Reason]int64{settle.ReasonNotADecimal: 2, settle.ReasonWrongFieldCount: 3}, tally.Refused)
	require.Equal(t, []string{"note"}, tally.Unused)
	require.Equal(t, []string{"good|1", "good|6"}, accepted)

	got, err := os.ReadFile(rejectsPath)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff("line,field,value,reason,b,a,note\n"+
		"3,a,\" x,\"\"y\"\"\",not_a_decimal,\"2\r\n2\",\" x,\"\"y\"\"\",\n"+
		"5,,2 fields instead of 3,wrong_field_count,3,good\n"+
		"6,,4 fields instead of 3,wrong_field_count,4,good,n,n\n"+
		"7,,a quote inside of a field that is not quoted,wrong_field_count,\"5\"\",good,n\"\n"+
		"8,a,\uFFFD,not_a_decimal,\xff,\xff,é\n", string(got)))
	info, err := os.Stat(rejectsPath)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm(), "as readable as the file itself")
	requireNothingElse(t, path, rejectsPath)
}

// requireNothingElse fails where a partial file is left.
func requireNothingElse(t *testing.T, paths ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(paths[0]))
	require.NoError(t, err)
	var there []string
	for _, entry := range entries {
		there = append(there, filepath.Join(filepath.Dir(paths[0]), entry.Name()))
	}
	require.ElementsMatch(t, paths, there)
}

func TestRejects_SentAgainAsTheyAreAreRefusedAgain(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	_, _, err := refuse(t, path, path+".rejects.csv")
	require.NoError(t, err)
	tally, accepted, err := refuse(t, path+".rejects.csv", path+".rejects.csv.rejects.csv")
	require.NoError(t, err)
	require.Empty(t, accepted)
	require.EqualValues(t, 5, tally.RefusedTotal())

	again := readCSV(t, path+".rejects.csv.rejects.csv")
	first := readCSV(t, path+".rejects.csv")
	for i := range first {
		require.Equal(t, first[i][len(rejectsColumns()):], again[i][len(rejectsColumns()):], "the original columns, once")
	}
}

func TestRejects_MendedCanBeSent(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	_, _, err := refuse(t, path, path+".rejects.csv")
	require.NoError(t, err)
	rows := readCSV(t, path+".rejects.csv")
	for _, row := range rows[1:] {
		copy(row[len(rejectsColumns()):], []string{"mended", "good", ""})
	}
	rows[2] = append(rows[2], "") // one field too few
	rows[3] = rows[3][:7]         // one too many
	rows[4] = append(rows[4][:4], "mended", "good", "")

	mended, err := os.Create(path + ".mended.csv")
	require.NoError(t, err)
	require.NoError(t, csv.NewWriter(mended).WriteAll(rows))
	require.NoError(t, mended.Close())
	tally, accepted, err := refuse(t, mended.Name(), path+".rejects.csv")
	require.NoError(t, err)
	require.Zero(t, tally.RefusedTotal())
	require.Len(t, accepted, 5)
	requireNothingElse(t, path, mended.Name()) // the file of the earlier try is gone
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	require.NoError(t, err)
	return rows
}

func TestRejects_LeaveOtherFilesAlone(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	other := written(t, "letters.csv", []byte("Dear sir,\n"))
	empty := written(t, "empty.csv", nil)
	for _, taken := range []string{other, path, empty} {
		_, _, err := refuse(t, path, taken)
		require.ErrorIs(t, err, ErrNotRejects)
		require.ErrorContains(t, err, taken+": ")
	}
	_, _, err := refuse(t, path, filepath.Join(t.TempDir(), "none", "rejects.csv"))
	require.ErrorIs(t, err, os.ErrNotExist, "before a line is read")
}

// A device would be replaced or deleted, a pipe waited for.
func TestRejects_RefuseWhatIsNoFileOfItsOwnWithoutOpeningIt(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	_, _, err := refuse(t, path, path+".rejects.csv")
	require.NoError(t, err)
	dir := t.TempDir()
	pipe, link, dangling := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(path+".rejects.csv", link))
	require.NoError(t, os.Symlink(filepath.Join(dir, "none"), dangling))
	for taken, want := range map[string]error{os.DevNull: ErrNotRegular, pipe: ErrNotRegular, dir: ErrNotRegular, link: ErrLink, dangling: ErrLink} {
		before, err := os.Lstat(taken)
		require.NoError(t, err)
		_, _, err = refuse(t, path, taken)
		require.ErrorIs(t, err, want)
		require.EqualError(t, err, "write refused lines: "+taken+": "+want.Error())
		after, err := os.Lstat(taken)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after) && before.Mode() == after.Mode(), taken)
	}
}

// Between the beginning and the end of a file another program may put
// something at the path.
func TestRejects_LeaveAloneWhatCameToStandInTheirPlaceMeanwhile(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"some refused": true, "none refused": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "claims.csv", []byte(badAndGood))
			rejects, err := NewRejects(path+".rejects.csv", opened(t, path), []string{"a", "b"})
			require.NoError(t, err)
			if refused {
				require.NoError(t, rejects.Add(Line{Number: 2}, settle.Structural(settle.ReasonNotADecimal, "a", "x")))
			}
			require.NoError(t, os.WriteFile(path+".rejects.csv", []byte("Dear sir,\n"), 0o600))
			require.ErrorIs(t, rejects.Commit(), ErrNotRejects)
			kept, err := os.ReadFile(path + ".rejects.csv")
			require.NoError(t, err)
			require.Equal(t, "Dear sir,\n", string(kept))
			requireNothingElse(t, path, path+".rejects.csv")
		})
	}
}

func TestRejects_DiscardLeavesTheEarlierFile(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(badAndGood))
	_, _, err := refuse(t, path, path+".rejects.csv")
	require.NoError(t, err)
	before := readCSV(t, path+".rejects.csv")

	rejects, err := NewRejects(path+".rejects.csv", opened(t, path), []string{"a", "b"})
	require.NoError(t, err)
	require.NoError(t, rejects.Add(Line{Number: 2}, settle.Structural(settle.ReasonNotADecimal, "a", "x")))
	require.NoError(t, rejects.Discard())
	require.Equal(t, before, readCSV(t, path+".rejects.csv"))
	requireNothingElse(t, path, path+".rejects.csv")
}

func TestPass_EndsWithItsContextAndReportsProgress(t *testing.T) {
	t.Parallel()
	file := opened(t, written(t, "claims.csv", []byte("a\n"+strings.Repeat("1\n", 10_000))))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var behind []int64
	seen := 0
	p := pass{file: file, columns: Columns{Required: []string{"a"}}, progress: func(bytes int64) { behind = append(behind, bytes) },
		handle: func(Line) (*settle.Failure, error) {
			if seen++; seen == 5_000 {
				cancel()
			}
			return nil, nil
		}}
	tally, err := p.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, tally.Lines, int64(6_000))
	require.IsIncreasing(t, behind)
	require.Equal(t, file.Size(), behind[len(behind)-1], "at its end, whatever that is")

	behind = nil
	tally, err = p.run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 10_000, tally.Lines)
	require.Equal(t, file.Size(), behind[len(behind)-1])
}

func TestVendors_AreReadFromALineEachOrFromAColumn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"one a line":         {"V1\nV2\n\nV1\n", ""},
		"marked, CRLF":       {"\xef\xbb\xbfV1\r\nV2\r\n", ""},
		"a column":           {"name,vendor_id\nAcme,V1\n\"Best, Ltd\",V2\nNone,\n", ""},
		"only that column":   {"vendor_id\nV1\nV2\n", ""},
		"empty":              {"", "the file is empty: want a header and lines"},
		"only a header":      {"vendor_id\n", "it names no vendor"},
		"columns, not named": {"name,id\nAcme,V1\n", "the header lacks the column vendor_id: want it, or one vendor a line"},
		"a line with two":    {"V1\nV2,V3\n", "line 2: 2 fields instead of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "vendors.csv", []byte(test.text))
			vendors, err := ReadVendors(t.Context(), path)
			if test.want != "" {
				require.EqualError(t, err, path+": "+test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, Vendors{"V1": {}, "V2": {}}, vendors)
		})
	}
}
