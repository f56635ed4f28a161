-- The ledger of the stream sales: its own columns first, in the order of the
-- stream's Table, then those that every ledger has.
--
-- The period comes first in the key, so that the index's working set is one
-- period. source has no foreign key: a check a row would cost more than the row.
CREATE TABLE sales_ledger (
	claim_period       text COLLATE "C" NOT NULL,
	reconciliation_key bytea  NOT NULL,
	revision           int    NOT NULL,
	retailer_invoice   text   NOT NULL,
	line_item_hash     text   NOT NULL,
	promo_tier         text   NOT NULL,
	agreement_version  int    NOT NULL,
	vendor_id          text   NOT NULL,
	store_id           text   NOT NULL,
	transaction_date   timestamptz NOT NULL,
	qualifying_units   numeric(38,9) NOT NULL,
	tier_rate          numeric(38,9) NOT NULL,
	claimed_amount     numeric(38,9), -- null: nothing is claimed
	currency           text   NOT NULL,

	amount             numeric(18,2) NOT NULL,
	outcome            text   NOT NULL CHECK (outcome IN ('auto_post', 'dispute')),
	run_id             text   NOT NULL,
	delivery           text   NOT NULL,
	correlation_id     text   NOT NULL,
	source             int    NOT NULL,
	source_offset      bigint NOT NULL,
	origin_source      int,    -- where a record that waited first arrived
	origin_offset      bigint,
	prev_version       bigint, -- of the key's posting before this one
	prev_amount        numeric(18,2),
	rules_id           int    NOT NULL,
	posted_at          timestamptz NOT NULL DEFAULT now(),

	PRIMARY KEY (claim_period, reconciliation_key, revision),
	CHECK (octet_length(reconciliation_key) = 32)
);

-- Rows are found by coordinates where the log no longer has their records. A
-- batch's rows stand together, so that this index is small and costs next to
-- nothing to write.
CREATE INDEX sales_ledger_coordinates ON sales_ledger USING brin (source, source_offset)
	WITH (pages_per_range = 32, autosummarize = on);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON sales_ledger
	FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE sales_ledger ENABLE ALWAYS TRIGGER append_only;

-- The newest revision of each key, in whatever order they arrived.
CREATE VIEW sales_ledger_current AS
SELECT DISTINCT ON (claim_period, sales_ledger.reconciliation_key)
	claim_period, encode(sales_ledger.reconciliation_key, 'hex') AS reconciliation_key, revision,
	retailer_invoice, line_item_hash, promo_tier, agreement_version, vendor_id, store_id, transaction_date,
	qualifying_units, tier_rate, claimed_amount, currency, amount, claimed_amount - amount AS difference, outcome,
	run_id, delivery, correlation_id, source, source_offset, origin_source, origin_offset,
	prev_version, prev_amount, rules_id, posted_at
FROM sales_ledger
ORDER BY claim_period, sales_ledger.reconciliation_key, revision DESC;

-- Every revision with the step from the one before it: the steps of a key add
-- up to the amount of its newest revision.
CREATE VIEW sales_ledger_delta AS
SELECT
	claim_period, encode(sales_ledger.reconciliation_key, 'hex') AS reconciliation_key, revision,
	agreement_version, vendor_id, currency, amount,
	lag(revision) OVER step AS previous_revision,
	lag(amount) OVER step AS previous_amount,
	amount - coalesce(lag(amount) OVER step, 0) AS delta,
	outcome, run_id, delivery, source, source_offset, posted_at
FROM sales_ledger
WINDOW step AS (PARTITION BY claim_period, sales_ledger.reconciliation_key ORDER BY revision);

GRANT SELECT, INSERT ON sales_ledger TO {{.worker}};
GRANT SELECT ON sales_ledger_current, sales_ledger_delta TO {{.worker}};
