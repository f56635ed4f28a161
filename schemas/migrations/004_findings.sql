-- The ledger of the stream findings: what a statement and the ledger of trades
-- differ in, each difference once. Its own columns first, in the order of the
-- stream's Table, then those that every ledger has.
--
-- A finding is its key: all that it says is in it, so that there is nothing to
-- correct, and version and revision are always 0. Those of the trade are columns
-- of their own, null where the ledger had none.
CREATE TABLE dispute (
	settlement_interval text COLLATE "C" NOT NULL,
	reconciliation_key  bytea  NOT NULL,
	version             bigint NOT NULL CHECK (version = 0),
	revision            int    NOT NULL CHECK (revision = 0),
	trade_id            text   NOT NULL,
	node_id             text,
	trade_version       bigint CHECK (trade_version >= 0),
	trade_revision      int    CHECK (trade_revision >= 0),
	class               text   NOT NULL,
	statement_amount    numeric(38,9), -- null: the statement has no such line
	ledger_amount       numeric(38,9), -- null: the ledger has no such trade
	currency            text   NOT NULL,

	amount              numeric(18,2) NOT NULL, -- ledger_amount, 0 where it's null
	outcome             text   NOT NULL CHECK (outcome = 'dispute'),
	run_id              text   NOT NULL,
	delivery            text   NOT NULL,
	correlation_id      text   NOT NULL,
	source              int    NOT NULL,
	source_offset       bigint NOT NULL,
	origin_source       int,    -- where a record that waited first arrived
	origin_offset       bigint,
	prev_version        bigint, -- always null: nothing comes before a finding
	prev_amount         numeric(18,2),
	rules_id            int    NOT NULL,
	posted_at           timestamptz NOT NULL DEFAULT now(),

	PRIMARY KEY (settlement_interval, reconciliation_key, revision),
	CHECK (octet_length(settlement_interval) = 20),
	CHECK (octet_length(reconciliation_key) = 32),
	CHECK ((trade_version IS NULL) = (trade_revision IS NULL)),
	CHECK (statement_amount IS NOT NULL OR ledger_amount IS NOT NULL),
	CHECK (amount = coalesce(ledger_amount, 0))
);

CREATE INDEX dispute_coordinates ON dispute USING brin (source, source_offset)
	WITH (pages_per_range = 32, autosummarize = on);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dispute
	FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE dispute ENABLE ALWAYS TRIGGER append_only;

-- Every finding, with its key as records and outcomes have it.
CREATE VIEW dispute_current AS
SELECT
	settlement_interval, encode(dispute.reconciliation_key, 'hex') AS reconciliation_key,
	trade_id, node_id, trade_version, trade_revision, class, statement_amount, ledger_amount,
	coalesce(statement_amount, 0) - coalesce(ledger_amount, 0) AS difference, currency, outcome,
	run_id, delivery, correlation_id, source, source_offset, origin_source, origin_offset, rules_id, posted_at
FROM dispute;

GRANT SELECT, INSERT ON dispute TO {{.worker}};
GRANT SELECT ON dispute_current TO {{.worker}};
