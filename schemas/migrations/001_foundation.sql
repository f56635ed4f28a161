-- What every stream's ledger stands on. Names are unqualified: the connection's
-- search_path is the installation's schema. The template's values are quoted
-- role names.

GRANT USAGE ON SCHEMA {{.schema}} TO {{.worker}};
GRANT SELECT ON schema_version TO {{.worker}};

-- One partition of one topic; every other table names it by its number. A
-- recreated topic has another topic_id, a truncated log another incarnation.
CREATE TABLE source (
	source      int  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	topic_id    uuid NOT NULL,
	topic       text NOT NULL,
	partition   int  NOT NULL CHECK (partition >= 0),
	incarnation int  NOT NULL DEFAULT 0 CHECK (incarnation >= 0),
	UNIQUE (topic_id, partition, incarnation)
);
CREATE INDEX source_topic ON source (topic, partition);
GRANT SELECT, INSERT ON source TO {{.worker}};

-- Where each source stands, and who may move it. next_offset moves only with
-- the rows that it answers for, in one transaction.
CREATE TABLE progress (
	source           int  PRIMARY KEY REFERENCES source,
	consumer_group   text NOT NULL,
	next_offset      bigint NOT NULL CHECK (next_offset >= 0),
	owner            uuid,
	published_offset bigint NOT NULL CHECK (published_offset >= 0),
	published_at     timestamptz NOT NULL DEFAULT now(),
	leader_epoch     int  NOT NULL DEFAULT -1,
	state            text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'halted')),
	reason           text,
	detail           text,
	CHECK (published_offset <= next_offset),
	CHECK ((state = 'halted') = (reason IS NOT NULL)),
	CHECK (state = 'active' OR owner IS NULL)
) WITH (fillfactor = 50); -- room for the next version of a row that every batch writes
GRANT SELECT, INSERT ON progress TO {{.worker}};
GRANT UPDATE (next_offset, owner, published_offset, published_at, leader_epoch, state, reason, detail)
	ON progress TO {{.worker}};

-- Offsets of a source that were left out, by whom and why: [from_offset, to_offset).
CREATE TABLE gap (
	source      int    NOT NULL REFERENCES source,
	from_offset bigint NOT NULL CHECK (from_offset >= 0),
	to_offset   bigint NOT NULL,
	reason      text   NOT NULL,
	created_by  text   NOT NULL DEFAULT session_user,
	created_at  timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (source, from_offset),
	CHECK (to_offset > from_offset)
);
GRANT SELECT, INSERT ON gap TO {{.worker}};

-- What verdicts were made by: one row for each binary and configuration.
CREATE TABLE rules (
	rules_id       int   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	digest         bytea NOT NULL UNIQUE, -- SHA-256 of the content: the same content is the same row
	binary_version text  NOT NULL,
	configuration  jsonb NOT NULL,
	created_at     timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT ON rules TO {{.worker}};

-- What can't be settled, with the bytes that arrived. field_value is shortened
-- to be shown; headers alternate name and value in their order, a null value
-- being a header without one. Like a ledger it has no foreign keys: each would
-- lock the one row that all batches name.
CREATE TABLE dead_letter (
	source           int    NOT NULL,
	source_offset    bigint NOT NULL,
	stream           text   NOT NULL,
	key              bytea,
	value            bytea,
	headers          bytea[] NOT NULL,
	record_timestamp timestamptz,
	class            text   NOT NULL CHECK (class IN ('structural', 'business', 'transient')),
	reason           text   NOT NULL,
	field            text   NOT NULL,
	field_value      text   NOT NULL,
	detail           text   NOT NULL,
	run_id           text   NOT NULL,
	delivery         text   NOT NULL,
	correlation_id   text   NOT NULL,
	rules_id         int    NOT NULL,
	dead_at          timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (source, source_offset)
);
GRANT SELECT, INSERT ON dead_letter TO {{.worker}};

-- How many dead letters stand open, kept so that a gauge needs no scan. A row a
-- source, as in run_counter: writers of two sources never wait for each other.
CREATE TABLE dead_letter_depth (
	source int    NOT NULL REFERENCES source,
	class  text   NOT NULL,
	reason text   NOT NULL,
	depth  bigint NOT NULL,
	PRIMARY KEY (source, class, reason)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT ON dead_letter_depth TO {{.worker}};
GRANT UPDATE (depth) ON dead_letter_depth TO {{.worker}};

-- Counts of one delivery of a run, a row for each source that it came through:
-- summed on read, since a shared row would let one frozen worker stop all.
-- applied counts postings, disputed those of them that are disputed. They may
-- go negative: what takes something back subtracts from its own row.
CREATE TABLE run_counter (
	run_id        text   NOT NULL,
	delivery      text   NOT NULL,
	source        int    NOT NULL REFERENCES source,
	applied       bigint NOT NULL,
	skipped       bigint NOT NULL,
	dead_lettered bigint NOT NULL,
	disputed      bigint NOT NULL,
	first_at      timestamptz NOT NULL DEFAULT now(),
	last_at       timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (run_id, delivery, source)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT ON run_counter TO {{.worker}};
GRANT UPDATE (applied, skipped, dead_lettered, disputed, first_at, last_at) ON run_counter TO {{.worker}};

-- The second lock on what is append-only, for those whom grants don't bind.
-- Each table names the trigger for itself, and ENABLE ALWAYS keeps it in force
-- where session_replication_role turns others off.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only: % is refused, a correction is a new row', TG_TABLE_NAME, TG_OP
		USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON rules
	FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE rules ENABLE ALWAYS TRIGGER append_only;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON gap
	FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE gap ENABLE ALWAYS TRIGGER append_only;
