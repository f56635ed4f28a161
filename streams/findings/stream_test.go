package findings

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tieout/tieout/pkg/money"
	"github.com/tieout/tieout/pkg/settle"
	"github.com/tieout/tieout/pkg/settle/settletest"
	"github.com/tieout/tieout/schemas"
)

type arrival = settletest.Arrival[Envelope]

// goodArrival is a finding that settles: the statement has a cent more.
func goodArrival(tb testing.TB, change ...func(*Envelope)) *arrival {
	tb.Helper()
	a := &arrival{Stream: New(), SetKey: func(e *Envelope, key string) { e.ReconciliationKey = key }, Envelope: Envelope{
		MessageID:          "01JDVQ0000000000000000000Z",
		CorrelationID:      "june:17",
		TradeID:            "PT1-0112",
		NodeID:             new("N.Y.C."),
		SettlementInterval: "2019-11-03T05:00:00Z",
		Version:            new(int64(1)),
		Revision:           new(int32(0)),
		Class:              string(Rounding),
		StatementAmount:    unscaled(tb, "265.04"),
		LedgerAmount:       unscaled(tb, "265.03"),
		Currency:           "USD",
	}}
	for _, c := range change {
		c(&a.Envelope)
	}
	require.NoError(tb, a.Seal())
	return a
}

func unscaled(tb testing.TB, text string) []byte {
	tb.Helper()
	bytes, err := money.MustParse(text).AppendUnscaled(nil, settle.DecimalScale)
	require.NoError(tb, err)
	return bytes
}

// absentFromLedger and absentFromStatement are findings of one side only.
func absentFromLedger(e *Envelope) {
	e.Class, e.LedgerAmount, e.Version, e.Revision = string(MissingInLedger), nil, nil, nil
}

func absentFromStatement(e *Envelope) { e.Class, e.StatementAmount = string(MissingInStatement), nil }

func TestSettle_EveryFindingIsADispute(t *testing.T) {
	for name, c := range map[string]struct {
		change                      func(*Envelope)
		amount, claimed, difference string
	}{
		"a cent more":              {func(*Envelope) {}, "265.03", "265.040000000", "0.010000000"},
		"missing in the ledger":    {absentFromLedger, "0.00", "265.040000000", "265.040000000"},
		"missing in the statement": {absentFromStatement, "265.03", "", ""},
		"the amounts agree": {func(e *Envelope) {
			e.Class, e.StatementAmount = string(Quantity), e.LedgerAmount
		}, "265.03", "265.030000000", "0.000000000"},
		"twice in the statement, and not in the ledger": {func(e *Envelope) {
			absentFromLedger(e)
			e.Class = string(DuplicateInStatement)
		}, "0.00", "265.040000000", "265.040000000"},
		"nobody knows the node": {func(e *Envelope) { absentFromLedger(e); e.NodeID = nil }, "0.00", "265.040000000", "265.040000000"},
	} {
		t.Run(name, func(t *testing.T) {
			a := goodArrival(t, c.change)
			posting, failure := a.Settle()
			require.Nil(t, failure)
			require.Equal(t, settle.Dispute, posting.Outcome)
			require.Equal(t, a.Envelope.ReconciliationKey, posting.Key.Hex())
			require.Zero(t, posting.Version)
			require.Zero(t, posting.Revision)
			require.Equal(t, "USD", posting.Currency)
			require.Equal(t, "june:17", posting.CorrelationID)
			require.Equal(t, c.amount, posting.Amount.String())
			require.Equal(t, c.claimed, text(posting.Claimed))
			require.Equal(t, c.difference, text(posting.Difference))
		})
	}
}

func text(d money.NullDecimal) string {
	if !d.Valid {
		return ""
	}
	return d.Decimal.String()
}

func TestCheckForm_GivesPythonsKey(t *testing.T) {
	var findings []struct {
		TradeID            string  `json:"trade_id"`
		NodeID             *string `json:"node_id"`
		SettlementInterval string  `json:"settlement_interval"`
		Version            *int64  `json:"version"`
		Revision           *int32  `json:"revision"`
		StatementAmount    *string `json:"statement_amount"`
		LedgerAmount       *string `json:"ledger_amount"`
		Class, Key         string
	}
	file, err := os.ReadFile("testdata/keys.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &findings))
	require.NotEmpty(t, findings)
	for _, f := range findings {
		e := goodArrival(t).Envelope
		e.TradeID, e.NodeID, e.SettlementInterval = f.TradeID, f.NodeID, f.SettlementInterval
		e.Version, e.Revision, e.Class = f.Version, f.Revision, f.Class
		e.StatementAmount, e.LedgerAmount = nil, nil
		if f.StatementAmount != nil {
			e.StatementAmount = unscaled(t, *f.StatementAmount)
		}
		if f.LedgerAmount != nil {
			e.LedgerAmount = unscaled(t, *f.LedgerAmount)
		}
		key, failure := e.CheckForm()
		require.Nil(t, failure)
		require.Equal(t, f.Key, key.Hex(), "%+v", f)
	}
}

func TestCheckForm_EqualAmountsGiveOneKey(t *testing.T) {
	a, b := goodArrival(t).Envelope, goodArrival(t).Envelope
	b.StatementAmount = append([]byte{0, 0}, b.StatementAmount...) // more sign bytes than it needs
	b.MessageID, b.CorrelationID = "01JDVQ00000000000000000010", "another"
	key, _ := a.CheckForm()
	same, failure := b.CheckForm()
	require.Nil(t, failure)
	require.Equal(t, key, same)
}

// Whatever is changed in what a finding says makes another one of it.
func TestSettle_ACopyIsADuplicateAndAnythingElseAnotherFinding(t *testing.T) {
	ledger := settletest.NewLedger(New().Table())
	post := func(change func(*Envelope)) settle.Outcome {
		posting, failure := goodArrival(t, change).Settle()
		require.Nil(t, failure)
		outcome, _ := ledger.Post(posting)
		return outcome
	}
	changes := []func(*Envelope){
		func(*Envelope) {},
		func(e *Envelope) { e.TradeID = "PT1-0113" },
		func(e *Envelope) { e.NodeID = new("CAPITL") },
		func(e *Envelope) { e.NodeID = nil },
		func(e *Envelope) { e.SettlementInterval = "2019-11-03T06:00:00Z" },
		func(e *Envelope) { e.Version = new(int64(2)) },
		func(e *Envelope) { e.Revision = new(int32(1)) },
		func(e *Envelope) { e.StatementAmount = unscaled(t, "265.05") },
		func(e *Envelope) { e.LedgerAmount = unscaled(t, "265.02") },
		func(e *Envelope) { e.Class = string(StaleVersion) },
		absentFromLedger,
		absentFromStatement,
	}
	for i, change := range changes {
		require.Equal(t, settle.Dispute, post(change), i)
		require.Equal(t, settle.DuplicateSkipped, post(func(e *Envelope) {
			change(e)
			e.MessageID, e.CorrelationID = "01JDVQ00000000000000000010", "july:3"
		}), i)
	}
	require.Equal(t, len(changes), ledger.Rows())
}

func TestWriteColumns_AreThoseOfTheTableInOrder(t *testing.T) {
	a := goodArrival(t)
	posting, failure := a.Settle()
	require.Nil(t, failure)
	row := settletest.RowOf(posting)
	require.Equal(t, []string{
		"2019-11-03T05:00:00Z", a.Envelope.ReconciliationKey, "0", "0", "PT1-0112", "N.Y.C.", "1", "0", "rounding", "265.04", "265.03", "USD",
	}, row.Values)
	require.NoError(t, row.Check(New().Table()))

	a = goodArrival(t, absentFromLedger, func(e *Envelope) { e.NodeID = nil })
	posting, failure = a.Settle()
	require.Nil(t, failure)
	row = settletest.RowOf(posting)
	require.Equal(t, []string{
		"2019-11-03T05:00:00Z", a.Envelope.ReconciliationKey, "0", "0", "PT1-0112", "null", "null", "null", "missing_in_ledger", "265.04", "null", "USD",
	}, row.Values)
	require.NoError(t, row.Check(New().Table()))
}

func TestClasses_AreTheSchemas(t *testing.T) {
	var schema struct {
		Fields []struct {
			Name string
			Type json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal([]byte(schemas.Finding), &schema))
	for _, field := range schema.Fields {
		if field.Name != "class" {
			continue
		}
		var enum struct{ Symbols []Class }
		require.NoError(t, json.Unmarshal(field.Type, &enum))
		require.Equal(t, Classes(), enum.Symbols)
		return
	}
	require.Fail(t, "the schema has no class")
}
