package ledger

import (
	"fmt"
	"strings"

	"github.com/tieout/tieout/pkg/settle"
)

// statements is the SQL that works on one stream's ledger, made from its table,
// so that another stream needs none of its own.
type statements struct {
	createStage string
	copyStage   string
	insertNew   string // $1 source, $2 rules; fails where the ledger has any of the keys
	insert      string // $1 source, $2 rules -> positions that were not inserted
	classify    string // $1 positions -> how many are found, positions that differ
	explain     string // $1 positions -> position, column, staged and posted value
	recorded    string // -> what the ledger holds under each staged row's key
	byOffset    string // $1 source, $2 from, $3 to -> what the ledger holds of these offsets

	// Of a versioned ledger:
	newest    string // -> position, version and amount of the newest posting of the same thing
	revisions string // -> position, revision, whether it differs, source and offset, of the same version
	economics string // $1 positions -> position, a number that is equal where the economics are
}

// stageName is the temporary table of a session in which a batch's postings
// are put down before any lock is taken. Its rows go with the transaction.
const stageName = "pg_temp.stage"

func newStatements(t *settle.Table) statements {
	var own, common []string
	for _, c := range t.Columns {
		own = append(own, c.Name)
	}
	for _, c := range commonColumns() {
		common = append(common, c.Name)
	}
	columns := strings.Join(append(own, common...), ", ")
	key := strings.Join(t.Key, ", ")
	s := statements{
		// Made of the ledger itself, so that types and their scales agree.
		createStage: "CREATE TEMPORARY TABLE stage ON COMMIT DELETE ROWS AS SELECT 0 AS position, " + columns +
			" FROM " + t.Name + " LIMIT 0",
		copyStage: "COPY " + stageName + " FROM STDIN BINARY",
		// Half of what the other costs: the index is searched once a row. Rows are
		// read as they were copied, which is in order.
		insertNew: "INSERT INTO " + t.Name + " (" + columns + ", source, rules_id)" +
			" SELECT " + columns + ", $1::int, $2::int FROM " + stageName,
		// What was not inserted is found beside the batch itself, not beside the
		// ledger; and it comes back as 4 bytes a row, so that the answer fits the
		// buffers of a connection whose client is stopped: a server that waits
		// for its client to read holds its locks through every time-out.
		insert: "WITH posted AS (" +
			"INSERT INTO " + t.Name + " (" + columns + ", source, rules_id)" +
			" SELECT " + columns + ", $1::int, $2::int FROM " + stageName + " ORDER BY position" +
			" ON CONFLICT (" + key + ") DO NOTHING RETURNING source_offset)" +
			" SELECT coalesce(string_agg(int4send(position), ''), '') FROM " + stageName + " s" +
			" WHERE NOT EXISTS (SELECT FROM posted p WHERE p.source_offset = s.source_offset)",
	}
	s.compare(t)
	if t.Versioned() {
		s.place(t)
	}
	return s
}

// compare makes the statements that hold staged rows against the ledger. The
// LIMIT keeps a look-up by primary key from becoming a join with all of it.
func (s *statements) compare(t *settle.Table) {
	beside := " FROM " + stageName + " s CROSS JOIN LATERAL (SELECT * FROM " + t.Name + " l WHERE " +
		matching(t.Key) + " LIMIT 1) l"
	picked := beside + " WHERE s.position = ANY($1::int[])"

	types := make(map[string]settle.ColumnType, len(t.Columns))
	for _, c := range t.Columns {
		types[c.Name] = c.Type
	}
	var differ, which, staged, posted []string
	for i, column := range comparedColumns(t) {
		unequal := fmt.Sprintf("s.%s IS DISTINCT FROM l.%[1]s", column)
		differ = append(differ, unequal)
		which = append(which, fmt.Sprintf("WHEN %s THEN %d", unequal, i+1))
		staged = append(staged, shown("s."+column, types[column]))
		posted = append(posted, shown("l."+column, types[column]))
	}
	differs := "(" + strings.Join(differ, " OR ") + ")"

	s.classify = "SELECT count(*), coalesce(string_agg(int4send(s.position), '') FILTER (WHERE " + differs + "), '')" + picked
	s.explain = "SELECT position, which, staged[which], posted[which] FROM (SELECT s.position," +
		" CASE " + strings.Join(which, " ") + " END AS which," +
		" ARRAY[" + strings.Join(staged, ", ") + "] AS staged, ARRAY[" + strings.Join(posted, ", ") + "] AS posted" +
		picked + ") compared WHERE which IS NOT NULL"

	claimed := "NULL"
	if t.Claimed != "" {
		claimed = "l." + t.Claimed + "::text"
	}
	posting := "l.source_offset, l." + columnKey + ", l." + t.Version + "::bigint, l." + columnRevision + ", l.outcome, l.amount::text, " +
		claimed + ", l." + columnCurrency + ", l.correlation_id, l.run_id, l.delivery, l.prev_version, l.prev_amount::text"
	s.recorded = "SELECT " + posting + ", l.source, s.position, " + differs + beside
	if t.SameVersion == settle.Revise {
		// A staged row doesn't know which revision it became.
		s.recorded = "SELECT " + posting + ", l.source, s.position, " + differs + anyRevision(t)
	}
	s.byOffset = "SELECT " + posting + " FROM " + t.Name + " l" +
		" WHERE l.source = $1 AND l.source_offset >= $2 AND l.source_offset < $3 ORDER BY l.source_offset"
}

// place makes the statements that find out how staged rows stand in the history
// of their thing.
func (s *statements) place(t *settle.Table) {
	s.newest = "SELECT s.position, l." + t.Version + "::bigint, l.amount::text FROM " + stageName + " s CROSS JOIN LATERAL (" +
		"SELECT " + t.Version + ", amount FROM " + t.Name + " l WHERE " + matching(t.Key[:len(t.Key)-2]) +
		" ORDER BY " + t.Version + " DESC, " + columnRevision + " DESC LIMIT 1) l"
	var differ []string
	for _, column := range t.Economics {
		differ = append(differ, fmt.Sprintf("s.%s IS DISTINCT FROM l.%[1]s", column))
	}
	s.revisions = "SELECT s.position, l." + columnRevision + ", (" + strings.Join(differ, " OR ") + "), l.source, l.source_offset" + anyRevision(t)
	s.economics = "SELECT position, dense_rank() OVER (ORDER BY " + strings.Join(t.Economics, ", ") + ") FROM " + stageName +
		" WHERE position = ANY($1::int[])"
}

// anyRevision joins each staged row with every revision of its version. OFFSET 0
// keeps the look-ups by key from becoming a join with all of the ledger.
func anyRevision(t *settle.Table) string {
	return " FROM " + stageName + " s CROSS JOIN LATERAL (SELECT * FROM " + t.Name + " l WHERE " +
		matching(t.Key[:len(t.Key)-1]) + " ORDER BY " + columnRevision + " OFFSET 0) l"
}

// matching compares some columns of a ledger's row with those of a staged one.
func matching(columns []string) string {
	match := make([]string, len(columns))
	for i, column := range columns {
		match[i] = fmt.Sprintf("l.%s = s.%[1]s", column)
	}
	return strings.Join(match, " AND ")
}

// comparedColumns are those in which a second copy of a posted key may differ,
// the pinned ones first: they're judged first.
func comparedColumns(t *settle.Table) []string {
	return append(append([]string(nil), t.Pinned...), t.Economics...)
}

// shown makes a column into text that a person reads.
func shown(column string, columnType settle.ColumnType) string {
	switch columnType {
	case settle.Bytes:
		return "encode(" + column + ", 'hex')"
	case settle.Decimal:
		return "trim_scale(" + column + ")::text"
	default:
		return column + "::text"
	}
}
