package ledger

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
)

// revise posts a revision of a key as if a recalculation had made it.
func (in *installation) revise(invoice string, revision int, amount string) {
	key := newClaim(invoice).Posting.Key
	in.exec(`
INSERT INTO sales_ledger VALUES ('2011-Q1', $1, $2, $3, 'h', 'GOLD', 8, 'V252', 's', now(), 3, 0.4463, 1.35, 'GBP',
	$4::numeric, 'auto_post', 'live', '', '', 1, 0, NULL, NULL, NULL, NULL, 1, now())`, key[:], revision, invoice, amount)
}

func TestViews_AreRightInAnyOrderOfArrival(t *testing.T) {
	in := newInstallation(t)
	for _, step := range []struct {
		invoice  string
		revision int
		amount   string
	}{{"A", 9, "3.00"}, {"B", 0, "7.00"}, {"A", 0, "1.00"}, {"A", 4, "1.50"}} {
		in.revise(step.invoice, step.revision, step.amount)
	}
	schema := in.setup.Schema
	require.Equal(t, 2, in.count(schema+".sales_ledger_current"))
	require.Equal(t, 1, in.count(fmt.Sprintf("%s.sales_ledger_current WHERE reconciliation_key = '%s' AND revision = 9 AND amount = 3.00 AND difference = -1.65",
		schema, newClaim("A").Posting.Key.Hex())))

	totals, err := in.open().CurrentTotals(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Total{{"GBP", "", 2, money.MustParse("10.00")}, {"GBP", settle.AutoPost, 2, money.MustParse("10.00")}}, totals)

	conn := in.connect(in.setup.WorkerRole)
	rows, err := conn.Query(t.Context(), `
SELECT revision, coalesce(previous_revision, -1), coalesce(previous_amount::text, ''), delta::text FROM sales_ledger_delta
WHERE reconciliation_key = $1 ORDER BY revision`, newClaim("A").Posting.Key.Hex())
	require.NoError(t, err)
	var got []string
	for rows.Next() {
		var revision, previous int
		var amount, delta string
		require.NoError(t, rows.Scan(&revision, &previous, &amount, &delta))
		got = append(got, fmt.Sprint(revision, previous, " ", amount, " ", delta))
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{"0 -1  1.00", "4 0 1.00 0.50", "9 4 1.50 1.50"}, got)
}

func TestViews_TheStepsOfAKeyAddUpToItsCurrentAmount(t *testing.T) {
	in := newInstallation(t)
	for i := range 20 {
		in.revise(fmt.Sprintf("INV-%d", i%7), i, fmt.Sprintf("%d.%02d", i*i%13, i))
	}
	require.Zero(t, in.count(fmt.Sprintf(`
(SELECT reconciliation_key, sum(delta) AS amount FROM %[1]s.sales_ledger_delta GROUP BY 1 EXCEPT SELECT reconciliation_key, amount FROM %[1]s.sales_ledger_current) d`, in.setup.Schema)))
}
