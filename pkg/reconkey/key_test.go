package reconkey

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseHex_TakesOneSpellingOnly(t *testing.T) {
	key, err := Sales("PL1-0001", "3f22d6d875f4e1635c6b9f02ac6ef85c", "SILVER", "2010-Q4")
	require.NoError(t, err)
	good := key.Hex()
	for _, text := range []string{
		"", good[:63], good + "0", strings.ToUpper(good), "0x" + good[2:], " " + good[1:], good[:63] + "g", good[:63] + "\n", strings.Repeat("é", 32),
	} {
		_, err := ParseHex(text)
		require.ErrorIs(t, err, ErrNotAKey, "%q", text)
	}
}

func TestCheckClaimPeriod_TakesQuartersAndThirteenPeriods(t *testing.T) {
	for n := range 100 {
		require.Equal(t, 1 <= n && n <= 13, CheckClaimPeriod(fmt.Sprintf("2010-P%02d", n)), n)
	}
	for n := range 10 {
		require.Equal(t, 1 <= n && n <= 4, CheckClaimPeriod(fmt.Sprintf("2010-Q%d", n)), n)
	}
	require.True(t, CheckClaimPeriod("0000-Q1"))
	for _, text := range []string{
		"", "2010", "2010-", "2010-Q", "2010Q4", "2010-q4", "2010-p01", "2010-P1", "2010-P001", "2010-Q04", "2010-Q44", "10-Q4", "02010-Q4", "2010-Q4 ", " 2010-Q4",
		"201O-Q4", "2010/Q4", "2010-M01", "2010-P1a", "2010-P0:", "2010-P/1", "2010-Q٣", "٢٠١٠-Q4", "2010-Q4|", "2010-QQ", "2010-P-1",
	} {
		require.False(t, CheckClaimPeriod(text), "%q", text)
	}
}

func TestSales_DifferentIdentitiesHaveDifferentKeys(t *testing.T) {
	part := rapid.StringMatching(`[a-c|]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(part, 4, 4).Draw(t, "a")
		b := rapid.SliceOfN(part, 4, 4).Draw(t, "b")
		keyA, errA := Sales(a[0], a[1], a[2], a[3])
		keyB, errB := Sales(b[0], b[1], b[2], b[3])
		if errA != nil || errB != nil {
			require.Contains(t, strings.Join(append(a, b...), ""), "|")
			return
		}
		require.Equal(t, slices.Equal(a, b), keyA == keyB)
	})
}

func TestIdentity_OrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "names")
		id := make(Identity, len(names))
		for i, name := range names {
			id[i] = rapid.OneOf(
				rapid.Map(rapid.String(), func(value string) Member { return Text(name, value) }),
				rapid.Map(rapid.Int64(), func(value int64) Member { return Integer(name, value) }),
				rapid.Just(Null(name)),
			).Draw(t, "member")
		}
		given := slices.Clone(id)
		shuffled := rapid.Permutation(id).Draw(t, "shuffled")
		require.Equal(t, id.Key(), shuffled.Key())
		require.Equal(t, given, id, "the caller's order is kept")
	})
}

// FuzzIdentity: the canonical JSON is ASCII, and means what it was made from.
func FuzzIdentity(f *testing.F) {
	for _, seed := range []string{"", "a", "é", "🧾", "<>&", "\x7f", "\u2028", "\"\\", "\x00\x1f", "\xff", "\xed\xa0\x80"} {
		f.Add(seed, "name", int64(1))
	}
	f.Fuzz(func(t *testing.T, value, name string, number int64) {
		text := Identity{Text("a"+name, value), Integer("b"+name, number), Null("c" + name)}.AppendJSON(nil)
		for _, c := range text {
			if c < ' ' || c > '~' {
				t.Fatalf("%q isn't printable ASCII", text)
			}
		}
		var decoded map[string]any
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if utf8.ValidString(value) && utf8.ValidString(name) && decoded["a"+name] != value {
			t.Fatalf("%q became %q", value, decoded["a"+name])
		}
	})
}

func TestKeys_AllocateNothing(t *testing.T) {
	var dst [hexChars]byte
	invoice, item := strings.Repeat("é", 40), strings.Repeat("a", 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		key, err := Sales(invoice, item, "PLATINUM", "2011-P07")
		if err != nil || len(key.AppendHex(dst[:0])) != hexChars {
			panic("no key")
		}
		if _, err := ParseHex("8ea56b0c6f38838ea834d855e7167c78cda96eebbf4055b2b8a1fb8ddf4eab55"); err != nil {
			panic(err)
		}
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if Trade("N.Y.C.", "2019-06-19T04:00:00Z", "T-1") == TradeVersion("N.Y.C.", "2019-06-19T04:00:00Z", "T-1", 1) {
			panic("no key")
		}
	}))
}

func BenchmarkSales(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Sales("PL1-0001", "3f22d6d875f4e1635c6b9f02ac6ef85c", "SILVER", "2010-Q4"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTradeVersion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		TradeVersion("N.Y.C.", "2019-06-19T04:00:00Z", "NYISO-N.Y.C.-20190619T04", 1560000000000000)
	}
}
