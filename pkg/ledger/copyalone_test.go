package ledger

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

func TestCopyAlone_WritesEachRowOnceIntoAnEmptyLedgerOnly(t *testing.T) {
	in := newInstallation(t)
	l := in.open(func(o *Options) { o.MaxConns = 2 })
	entries := make([]*settle.Entry, 25)
	for i := range entries {
		entries[i] = newClaim(fmt.Sprintf("invoice-%d", i))
	}
	require.NoError(t, l.CopyAlone(t.Context(), entries, 10))
	require.Equal(t, 25, in.count("sales_ledger WHERE source = 0 AND rules_id = 1 AND amount = 1.34 AND currency = 'GBP'"))

	var used *TableError
	require.ErrorAs(t, l.CopyAlone(t.Context(), entries[:1], 10), &used)
	require.Equal(t, 25, in.count("sales_ledger"))
}

func TestCopyAlone_RefusesALedgerThatHasASource(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	in.acquire(l, "topic", 0)
	var used *TableError
	require.ErrorAs(t, l.CopyAlone(t.Context(), []*settle.Entry{newClaim("A")}, 10), &used)
	require.Zero(t, in.count("sales_ledger"))
}

func TestTotals_AddUpByCurrencyAndOutcome(t *testing.T) {
	in := newInstallation(t)
	l := in.open()
	totals, err := l.Totals(t.Context())
	require.NoError(t, err)
	require.Empty(t, totals)

	euros := func(c *claim) { c.currency = "EUR" }
	in.acquire(l, "topic", 0).commit(newClaim("A"), newClaim("B"), newClaim("C", claims("5")), newClaim("D", euros))
	totals, err = l.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Total{
		{"EUR", "", 1, money.MustParse("1.34")},
		{"EUR", settle.AutoPost, 1, money.MustParse("1.34")},
		{"GBP", "", 3, money.MustParse("4.02")},
		{"GBP", settle.AutoPost, 2, money.MustParse("2.68")},
		{"GBP", settle.Dispute, 1, money.MustParse("1.34")},
	}, totals)
}
