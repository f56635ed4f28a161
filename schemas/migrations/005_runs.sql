-- What a delivery's records add up to in the stream's quantity, by what became of
-- them: for comparing with the control sum that its producer states, without a
-- look at the ledger. unmeasured counts the records whose quantity isn't in the
-- sums, since it couldn't be read, or since they were counted before this.
ALTER TABLE run_counter
	ADD COLUMN applied_quantity       numeric NOT NULL DEFAULT 0,
	ADD COLUMN skipped_quantity       numeric NOT NULL DEFAULT 0,
	ADD COLUMN dead_lettered_quantity numeric NOT NULL DEFAULT 0,
	ADD COLUMN unmeasured             bigint  NOT NULL DEFAULT 0;
UPDATE run_counter SET unmeasured = applied + skipped + dead_lettered;
GRANT UPDATE (applied_quantity, skipped_quantity, dead_lettered_quantity, unmeasured) ON run_counter TO {{.worker}};
