package producer

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// zipped gzips text, each part as a member of its own.
func zipped(t *testing.T, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&out)
		_, err := io.WriteString(w, part)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return out.Bytes()
}

// written writes a file into a folder of the test's own.
func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func opened(t *testing.T, path string) *File {
	t.Helper()
	file, err := OpenFile(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return file
}

const twoLines = "a,b\r\n1,2\r\n3,4\r\n"

func TestFile_IsKnownByItsTextAndNotByItsName(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"plain.csv":         []byte(twoLines),
		"zipped.csv.gz":     zipped(t, twoLines),
		"zipped.csv":        zipped(t, twoLines),
		"plain.csv.gz":      []byte(twoLines),
		"two-members.csv.z": zipped(t, twoLines[:7], twoLines[7:]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := opened(t, written(t, name, content))
			require.EqualValues(t, len(twoLines), file.Size())
			require.Equal(t, sha256.Sum256([]byte(twoLines)), file.Digest())
			require.Equal(t, "sales-1de5c212a5516d8f", file.DefaultRunID("sales"))
			for range 2 { // it can be read as often as needed
				lines, err := file.Lines(Columns{Required: []string{"b"}})
				require.NoError(t, err)
				require.Equal(t, []seenLine{{Number: 2, Values: []string{"2"}}, {Number: 3, Values: []string{"4"}}}, readLines(t, lines))
			}
		})
	}
}

func TestFile_DamageShowsWhenItIsOpened(t *testing.T) {
	t.Parallel()
	whole := zipped(t, twoLines)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1
	for name, test := range map[string]struct {
		content []byte
		want    string
		is      error
	}{
		"truncated":        {whole[:len(whole)-9], "the gzip file is damaged: it ends too early (unexpected EOF)", ErrDamagedGzip},
		"a header only":    {whole[:5], "the gzip file is damaged: it ends too early (unexpected EOF)", ErrDamagedGzip},
		"overwritten":      {append(bytes.Clone(whole[:12]), make([]byte, 40)...), "the gzip file is damaged (flate: corrupt input before offset 8)", ErrDamagedGzip},
		"wrong checksum":   {flipped, "the gzip file is damaged (gzip: invalid checksum)", ErrDamagedGzip},
		"something behind": {append(bytes.Clone(whole), "tail of ten"...), "the gzip file is damaged (gzip: invalid header)", ErrDamagedGzip},
		"empty":            {nil, "the file is empty: want a header and lines", ErrEmptyFile},
		"empty, zipped":    {zipped(t, ""), "the file is empty: want a header and lines", ErrEmptyFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "claims.csv", test.content)
			_, err := OpenFile(t.Context(), path)
			require.EqualError(t, err, path+": "+test.want)
			require.ErrorIs(t, err, test.is)
		})
	}
}

func TestFile_ThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := OpenFile(t.Context(), folder)
	require.EqualError(t, err, folder+": not a regular file")
	_, err = OpenFile(t.Context(), filepath.Join(folder, "none.csv"))
	require.EqualError(t, err, filepath.Join(folder, "none.csv")+": no such file or directory")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = OpenFile(ctx, written(t, "claims.csv", []byte(twoLines)))
	require.ErrorIs(t, err, context.Canceled)
}

func TestFile_ThatChangesWhileItIsReadIsNoticed(t *testing.T) {
	t.Parallel()
	path := written(t, "claims.csv", []byte(twoLines))
	file := opened(t, path)
	require.NoError(t, os.WriteFile(path, []byte(twoLines+"5,6\r\n"), 0o600))

	lines, err := file.Lines(Columns{Required: []string{"a"}})
	require.NoError(t, err)
	for err == nil {
		_, err = lines.Read()
	}
	require.ErrorIs(t, err, ErrFileChanged)
	require.NotErrorIs(t, err, io.EOF)
}
