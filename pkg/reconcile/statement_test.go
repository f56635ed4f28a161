package reconcile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/ledger"
	"github.com/tieout/tieout/pkg/producer"
)

// A shelf is a ledger that only notes what a statement bills.
type shelf struct{ lines []string }

func (s *shelf) CompareStatement(_ context.Context, _ ledger.ComparisonScope, next func() (*ledger.BilledLine, error), take func(*ledger.ComparedRow) error) error {
	for {
		line, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%d %s|%s|%s|%s", line.Line, line.TradeID, line.NodeID, line.SettlementInterval, line.Amount)
		if line.MWh.Valid {
			text += " mwh " + line.MWh.Decimal.String()
		}
		if line.Price.Valid {
			text += " price " + line.Price.Decimal.String()
		}
		s.lines = append(s.lines, text)
		if err := take(&ledger.ComparedRow{BilledLine: *line}); err != nil {
			return err
		}
	}
}

func read(t *testing.T, text string, columns map[string]string) ([]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "statement.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := OpenStatement(t.Context(), path, columns)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var noted shelf
	_, err = Run(t.Context(), &noted, s, Options{})
	return noted.lines, err
}

func TestStatement_IsReadInAnyForm(t *testing.T) {
	plain := "trade_id,node_id,settlement_interval,amount\nT1,CAPITL,2019-06-01T04:00:00Z,-1.50\nT2,HUD VL,2019-06-01T05:00:00Z,2\n"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(plain))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for name, text := range map[string]string{
		"plain":                        plain,
		"gzipped":                      zipped.String(),
		"with a byte order mark":       "\xef\xbb\xbf" + plain,
		"with CRLF":                    strings.ReplaceAll(plain, "\n", "\r\n"),
		"quoted":                       "\"trade_id\",node_id,settlement_interval,amount\n\"T1\",CAPITL,2019-06-01T04:00:00Z,\"-1.50\"\nT2,\"HUD VL\",2019-06-01T05:00:00Z,2\n",
		"without an end at the end":    strings.TrimSuffix(plain, "\n"),
		"in local time":                strings.ReplaceAll(strings.ReplaceAll(plain, "T04:00:00Z", "T00:00:00-04:00"), "T05:00:00Z", "T06:00:00+01:00"),
		"with columns nobody asks for": "note,trade_id,node_id,settlement_interval,amount\nx,T1,CAPITL,2019-06-01T04:00:00Z,-1.50\n,T2,HUD VL,2019-06-01T05:00:00Z,2\n",
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := read(t, text, nil)
			require.NoError(t, err)
			require.Equal(t, []string{"2 T1|CAPITL|2019-06-01T04:00:00Z|-1.50", "3 T2|HUD VL|2019-06-01T05:00:00Z|2"}, lines)
		})
	}
}

func TestStatement_ColumnsHaveTheNamesThatTheMapGivesThem(t *testing.T) {
	text := "charge,deal,start,volume,price,ccy\n-1.50,T1,2019-06-01T04:00:00Z,10,,USD\n2,T2,2019-06-01T05:00:00Z,,3.25,\n"
	lines, err := read(t, text, map[string]string{"amount": "charge", "trade_id": "deal", "settlement_interval": "start", "mwh": "volume", "currency": "ccy"})
	require.NoError(t, err)
	require.Equal(t, []string{"2 T1||2019-06-01T04:00:00Z|-1.50 mwh 10", "3 T2||2019-06-01T05:00:00Z|2 price 3.25"}, lines)

	for name, c := range map[string]struct {
		columns map[string]string
		want    string
	}{
		"not mapped":                    {nil, "the header lacks the column trade_id"},
		"an optional one that's mapped": {map[string]string{"amount": "charge", "trade_id": "deal", "settlement_interval": "start", "node_id": "zone"}, "the header lacks the column zone"},
		"an unknown field":              {map[string]string{"fee": "charge"}, `there is no field "fee" to read a column into: there are trade_id, settlement_interval, amount, node_id, mwh, price, currency`},
		"no name":                       {map[string]string{"amount": ""}, "the column of amount has no name"},
		"one for two":                   {map[string]string{"amount": "charge", "price": "charge"}, "the column charge can't be both amount and price"},
		"one that is another's":         {map[string]string{"amount": "price"}, "the column price can't be both amount and price"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, text, c.columns)
			require.ErrorContains(t, err, c.want)
		})
	}
	// Two columns that change places.
	lines, err = read(t, "trade_id,settlement_interval,amount,price\nT1,2019-06-01T04:00:00Z,3,4\n", map[string]string{"amount": "price", "price": "amount"})
	require.NoError(t, err)
	require.Equal(t, []string{"2 T1||2019-06-01T04:00:00Z|4 price 3"}, lines)
}

func TestStatement_EveryBadLineIsNamedAndNothingIsCompared(t *testing.T) {
	header := "trade_id,node_id,settlement_interval,amount,mwh,price,currency\n"
	good := "T1,CAPITL,2019-06-01T04:00:00Z,1.50,10,0.15,USD\n"
	for line, want := range map[string]string{
		",CAPITL,2019-06-01T04:00:00Z,1,,,":                             `trade_id "": missing_field`,
		"T1,,2019-06-01T04:00:00Z,1,,,":                                 `node_id "": missing_field`,
		"T1,CAPITL,,1,,,":                                               `settlement_interval "": missing_field`,
		"T1,CAPITL,2019-06-01T04:00:00Z,,,,":                            `amount "": missing_field`,
		"T\x00,CAPITL,2019-06-01T04:00:00Z,1,,,":                        `trade_id "T` + "\uFFFD" + `": invalid_text`,
		"T1," + strings.Repeat("x", 257) + ",2019-06-01T04:00:00Z,1,,,": `node_id "` + strings.Repeat("x", 128) + `...": field_too_long`,
		"T1,CAPITL,2019-06-01T04:00:00,1,,,":                            `settlement_interval "2019-06-01T04:00:00": invalid_interval, want its start in RFC 3339 with a zone, such as 2019-06-19T00:00:00-04:00`,
		"T1,CAPITL,2019-06-01T04:00:00.5Z,1,,,":                         `settlement_interval "2019-06-01T04:00:00.5Z": invalid_interval, it has a fraction of a second`,
		"T1,CAPITL,0000-01-01T00:00:00Z,1,,,":                           `settlement_interval "0000-01-01T00:00:00Z": invalid_interval, it's outside the years 1 to 9999`,
		"T1,CAPITL,2019-06-01T04:00:00Z,$1,,,":                          `amount "$1": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,(1.00),,,":                      `amount "(1.00)": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,\"1,000.00\",,,":                `amount "1,000.00": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,1E3,,,":                         `amount "1E3": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,0.0000000001,,,":                `amount "0.0000000001": too_many_fraction_digits, at most 9 are kept, and nothing is rounded on the way in`,
		"T1,CAPITL,2019-06-01T04:00:00Z,-10000000000000000,,,":          `amount "-10000000000000000": out_of_range, the ledger's amounts are below 10000000000000000`,
		"T1,CAPITL,2019-06-01T04:00:00Z,1,ten,,":                        `mwh "ten": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,1,,ten,":                        `price "ten": not_a_decimal`,
		"T1,CAPITL,2019-06-01T04:00:00Z,1,,,CAD":                        `currency "CAD": unsupported_currency, the ledger is in USD`,
		"T1,CAPITL,2019-06-01T04:00:00Z,1":                              `"4 fields instead of 7": wrong_field_count`,
		"T1,\"CAPITL,2019-06-01T04:00:00Z,1,,,":                         `"a quote that opens a field is not closed": wrong_field_count`,
	} {
		t.Run(want, func(t *testing.T) {
			_, err := read(t, header+good+line+"\n", nil)
			var bad *BadLinesError
			require.ErrorAs(t, err, &bad)
			require.True(t, strings.HasSuffix(err.Error(), "statement.csv:3: "+want+"; nothing was compared"), err.Error())
		})
	}
}

func TestStatement_OfManyBadLinesTheFirstTenAreNamed(t *testing.T) {
	var text strings.Builder
	text.WriteString("trade_id,settlement_interval,amount\n")
	for i := range 25 {
		fmt.Fprintf(&text, "T1,2019-06-01T04:00:00Z,%d\nT1,2019-06-01T04:00:00Z,bad\n", i)
	}
	lines, err := read(t, text.String(), nil)
	var bad *BadLinesError
	require.ErrorAs(t, err, &bad)
	require.EqualValues(t, 25, bad.Total)
	require.Len(t, bad.Lines, 10)
	require.EqualValues(t, 3, bad.Lines[0].Number)
	require.EqualValues(t, 21, bad.Lines[9].Number)
	require.Contains(t, err.Error(), "; and 15 more; nothing was compared")
	require.Len(t, lines, 1, "what comes behind the first one is only looked at")
}

func TestStatement_WhatIsWrongWithTheFileIsTold(t *testing.T) {
	_, err := OpenStatement(t.Context(), "none.csv", nil)
	var file *producer.FileError
	require.ErrorAs(t, err, &file)
	_, err = read(t, "", nil)
	require.ErrorIs(t, err, producer.ErrEmptyFile)
	_, err = read(t, "trade_id,Amount,settlement_interval\n", nil)
	require.ErrorContains(t, err, `the header lacks the column amount: it has "Amount", and names must be equal`)
}

func TestStatement_IsTheSameRunHoweverOftenItIsOpened(t *testing.T) {
	lines := []string{"trade_id,settlement_interval,amount", "T1,2019-06-01T04:00:00Z,1"}
	first, again := statement(t, nil, lines...), statement(t, nil, lines...)
	require.Equal(t, first.RunID(), again.RunID())
	require.Regexp(t, "^findings-[0-9a-f]{16}$", first.RunID())
	require.NotEqual(t, first.RunID(), statement(t, nil, append(lines, "T2,2019-06-01T04:00:00Z,1")...).RunID())
}

func TestRun_EndsWithItsContext(t *testing.T) {
	s := statement(t, nil, "trade_id,settlement_interval,amount", "T1,2019-06-01T04:00:00Z,1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, &shelf{}, s, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestRun_TellsHowFarItIs(t *testing.T) {
	s := statement(t, nil, "trade_id,settlement_interval,amount", "T1,2019-06-01T04:00:00Z,1")
	var told [][2]int64
	_, err := Run(t.Context(), &shelf{}, s, Options{Progress: func(done, total int64) { told = append(told, [2]int64{done, total}) }})
	require.NoError(t, err)
	require.Equal(t, told[len(told)-1][0], told[len(told)-1][1])
}
