-- The ledger of the stream trades: its own columns first, in the order of the
-- stream's Table, then those that every ledger has.
--
-- settlement_interval is the text that the keys are made of: written in one way
-- only, it sorts as time does, and nothing rewrites it on the way in or out.
-- Every version of a trade is a row of its own; a revision corrects a version.
CREATE TABLE trade_ledger (
	settlement_interval text COLLATE "C" NOT NULL,
	reconciliation_key  bytea  NOT NULL,
	version             bigint NOT NULL,
	revision            int    NOT NULL,
	idempotency_key     bytea  NOT NULL, -- of this version; the primary key makes it unique
	trade_id            text   NOT NULL,
	node_id             text   NOT NULL,
	mwh                 numeric(38,9) NOT NULL,
	price               numeric(38,9) NOT NULL,
	currency            text   NOT NULL,
	market_run          text,
	meter_id            text,
	last_modified       timestamptz,

	amount              numeric(18,2) NOT NULL,
	outcome             text   NOT NULL CHECK (outcome = 'auto_post'),
	run_id              text   NOT NULL,
	delivery            text   NOT NULL,
	correlation_id      text   NOT NULL,
	source              int    NOT NULL,
	source_offset       bigint NOT NULL,
	origin_source       int,    -- where a record that waited first arrived
	origin_offset       bigint,
	prev_version        bigint, -- of the key's posting before this one
	prev_amount         numeric(18,2),
	rules_id            int    NOT NULL,
	posted_at           timestamptz NOT NULL DEFAULT now(),

	PRIMARY KEY (settlement_interval, reconciliation_key, version, revision),
	CHECK (octet_length(settlement_interval) = 20),
	CHECK (octet_length(reconciliation_key) = 32),
	CHECK (octet_length(idempotency_key) = 32),
	CHECK (version >= 0)
);

CREATE INDEX trade_ledger_coordinates ON trade_ledger USING brin (source, source_offset)
	WITH (pages_per_range = 32, autosummarize = on);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON trade_ledger
	FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE trade_ledger ENABLE ALWAYS TRIGGER append_only;

-- The newest revision of the newest version of each trade, in whatever order
-- they arrived: what is to be paid, and what a statement is compared with.
CREATE VIEW trade_ledger_current AS
SELECT DISTINCT ON (settlement_interval, trade_ledger.reconciliation_key)
	settlement_interval, encode(trade_ledger.reconciliation_key, 'hex') AS reconciliation_key, version, revision,
	encode(trade_ledger.idempotency_key, 'hex') AS idempotency_key, trade_id, node_id,
	mwh, price, currency, market_run, meter_id, last_modified, amount, outcome,
	run_id, delivery, correlation_id, source, source_offset, origin_source, origin_offset,
	prev_version, prev_amount, rules_id, posted_at
FROM trade_ledger
ORDER BY settlement_interval, trade_ledger.reconciliation_key, version DESC, revision DESC;

-- Every version and revision with the step from the one below it, whichever came
-- first: the steps of a trade add up to the amount of its newest version.
CREATE VIEW trade_ledger_delta AS
SELECT
	settlement_interval, encode(trade_ledger.reconciliation_key, 'hex') AS reconciliation_key, version, revision,
	trade_id, node_id, mwh, price, currency, amount,
	lag(version) OVER step AS previous_version,
	lag(revision) OVER step AS previous_revision,
	lag(amount) OVER step AS previous_amount,
	amount - coalesce(lag(amount) OVER step, 0) AS delta,
	outcome, run_id, delivery, source, source_offset, posted_at
FROM trade_ledger
WINDOW step AS (PARTITION BY settlement_interval, trade_ledger.reconciliation_key ORDER BY version, revision);

GRANT SELECT, INSERT ON trade_ledger TO {{.worker}};
GRANT SELECT ON trade_ledger_current, trade_ledger_delta TO {{.worker}};
