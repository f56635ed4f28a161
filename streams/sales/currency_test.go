package sales

import (
	"encoding/csv"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwoMinorDigits_AreISO4217sOwn(t *testing.T) {
	file, err := os.Open("testdata/iso4217.csv")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	lines, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	two := map[string]bool{}
	for _, line := range lines[1:] {
		two[line[0]] = line[1] == "2"
	}
	require.Len(t, two, 178)
	for a := byte('A'); a <= 'Z'; a++ {
		for b := byte('A'); b <= 'Z'; b++ {
			for c := byte('A'); c <= 'Z'; c++ {
				code := string([]byte{a, b, c})
				require.Equal(t, two[code], twoMinorDigits(code), code)
			}
		}
	}
	for _, code := range []string{"", "gbp", "Gbp", "GBP ", " GBP", "GBPX", "GB", "826", "£"} {
		require.False(t, twoMinorDigits(code), "%q", code)
	}
}
