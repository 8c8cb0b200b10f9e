-- +goose Up
-- items is how many rows without an end there are of a subject in a cluster: questions of now count images by it.
ALTER TABLE inventory_seen ADD COLUMN items INTEGER NOT NULL DEFAULT 0;
UPDATE inventory_seen SET items = (SELECT COUNT(*) FROM inventory_rows r WHERE r.subject = inventory_seen.subject AND r.kind = inventory_seen.kind
    AND r.cluster = inventory_seen.cluster AND r.span = 9) WHERE last_seen = 9223372036854775807;
DROP INDEX inventory_seen_subject;
CREATE INDEX inventory_seen_subject ON inventory_seen (kind, subject, last_seen, first_seen, cluster, items);
