package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/streams/sales"
)

func TestOptions_NameWhatCannotBeUsed(t *testing.T) {
	good := func() Options {
		o := Options{URL: "postgres://h/d", Schema: "tieout", Role: "tieout_worker", ConsumerGroup: "g", Stream: "sales", Table: sales.New().Table()}
		return o.withDefaults()
	}
	o := good()
	require.NoError(t, o.Validate())
	for option, change := range map[string]func(*Options){
		"URL":                      func(o *Options) { o.URL = "" },
		"Schema":                   func(o *Options) { o.Schema = "Tie out" },
		"Role":                     func(o *Options) { o.Role = strings.Repeat("r", 64) },
		"ConsumerGroup":            func(o *Options) { o.ConsumerGroup = "" },
		"Stream":                   func(o *Options) { o.Stream = "" },
		"MaxConns":                 func(o *Options) { o.MaxConns = -1 },
		"StatementTimeout":         func(o *Options) { o.StatementTimeout = -time.Second },
		"LockTimeout":              func(o *Options) { o.LockTimeout = time.Microsecond },
		"IdleInTransactionTimeout": func(o *Options) { o.IdleInTransactionTimeout = -1 },
		"Table":                    func(o *Options) { o.Table.Name = "sales_ledger; DROP TABLE" },
		"Table sales_ledger column": func(o *Options) {
			o.Table.Columns = append(o.Table.Columns, settle.Column{Name: "x, y"})
		},
	} {
		o := good()
		change(&o)
		var refused *OptionError
		require.ErrorAs(t, o.Validate(), &refused, option)
		require.Equal(t, option, refused.Option)
	}
}

func TestTable_RefusesWhatIsNoLedger(t *testing.T) {
	for why, change := range map[string]func(*settle.Table){
		"there twice":               func(t *settle.Table) { t.Columns = append(t.Columns, t.Columns[0]) },
		"every ledger has":          func(t *settle.Table) { t.Columns = append(t.Columns, settle.Column{Name: "amount"}) },
		"isn't one of its columns":  func(t *settle.Table) { t.Economics = append(t.Economics, "nowhere") },
		"needs a key":               func(t *settle.Table) { t.Key = nil },
		"is a decimal":              func(t *settle.Table) { t.Key = append(t.Key, "tier_rate") },
		"no reconciliation_key":     func(t *settle.Table) { t.Key = []string{"claim_period", "revision"} },
		"no revision":               func(t *settle.Table) { t.Key = []string{"claim_period", "reconciliation_key"} },
		"no currency":               func(t *settle.Table) { t.Columns[13].Type = settle.Bytes },
		"isn't one of its integers": func(t *settle.Table) { t.Version = "vendor_id" },
		"isn't one of its decimals": func(t *settle.Table) { t.Claimed = "vendor_id" },
	} {
		table := sales.New().Table()
		change(&table)
		var refused *TableError
		require.ErrorAs(t, checkTable(&table), &refused, why)
		require.ErrorContains(t, refused, why)
	}
}

func TestMigrateOptions_KeepOwnerAndWorkerApart(t *testing.T) {
	o := MigrateOptions{URL: "postgres://h/d", Schema: "s", OwnerRole: "r", WorkerRole: "r"}
	var refused *OptionError
	require.ErrorAs(t, o.Validate(), &refused)
	require.Equal(t, "WorkerRole", refused.Option)
}
