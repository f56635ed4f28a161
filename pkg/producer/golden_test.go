package producer

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what is expected in testdata/claims anew")

// Each folder of testdata/claims is a file of claims as the world may hand it
// over, named for what is the matter with it. Beside it stands what comes of it:
// sent.txt, a line for each record; rejects.csv, where lines are refused;
// error.txt, where the file as a whole is.
func TestDelivery_OfHostileFiles(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(testdata, "claims", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			claims, err := filepath.Glob(filepath.Join(folder, "claims.csv*"))
			require.NoError(t, err)
			require.Len(t, claims, 1)
			got := t.TempDir()
			installation := startInstallation(t)
			delivery := Delivery{
				Lines: SalesLines{}, Path: claims[0], RejectsPath: filepath.Join(got, "rejects.csv"), Options: installation.options(),
			}
			if vendors := filepath.Join(folder, "vendors.csv"); exists(t, vendors) {
				delivery.Options.Vendors, err = ReadVendors(t.Context(), vendors)
				require.NoError(t, err)
			}
			report, err := delivery.Run(t.Context())
			if err != nil {
				line := strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), "")
				require.NoError(t, os.WriteFile(filepath.Join(got, "error.txt"), []byte(line+"\n"), 0o600))
			}
			require.NoError(t, os.WriteFile(filepath.Join(got, "sent.txt"), []byte(installation.sent(t, report)), 0o600))
			compareFolders(t, folder, got)
		})
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return err == nil
}

// sent describes what is on the topic, in the order of the file.
func (i *installation) sent(t *testing.T, report Report) string {
	t.Helper()
	var lines []string
	for _, envelope := range i.envelopes(t, int(report.Sent)) {
		p := envelope.Payload
		number := envelope.CorrelationID[strings.LastIndexByte(envelope.CorrelationID, ':')+1:]
		lines = append(lines, fmt.Sprintf("%4s %q %s x %s, claimed %s, %s\n", number, p.RetailerInvoice,
			decimalText(t, p.QualifyingUnits), decimalText(t, p.TierRate), decimalText(t, p.ClaimedAmount), p.TransactionDate))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// compareFolders compares what came of a file with what stands beside it.
func compareFolders(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{"error.txt", "rejects.csv", "sent.txt"} {
		text, err := os.ReadFile(filepath.Join(got, name))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		if *update {
			require.NoError(t, os.RemoveAll(filepath.Join(want, name)))
			if len(text) > 0 {
				require.NoError(t, os.WriteFile(filepath.Join(want, name), text, 0o644))
			}
			continue
		}
		expected, err := os.ReadFile(filepath.Join(want, name))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		require.Empty(t, cmp.Diff(string(expected), string(text)), name)
	}
}
