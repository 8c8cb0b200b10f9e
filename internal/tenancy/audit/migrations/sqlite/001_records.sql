-- +goose Up
-- Without STRICT a text could be turned into a blob of the same bytes, which no filter finds.
CREATE TABLE audit_records (
    sequence INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    actor_credential TEXT NOT NULL,
    action TEXT NOT NULL,
    organization TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_name TEXT NOT NULL,
    object_uid TEXT NOT NULL,
    source TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    detail TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX audit_records_organization ON audit_records (organization, sequence);
CREATE INDEX audit_records_actor ON audit_records (actor_name, sequence);
CREATE INDEX audit_records_object ON audit_records (object_name, sequence);
CREATE INDEX audit_records_time ON audit_records (time);

CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT;

-- INSERT OR REPLACE deletes without asking the triggers for DELETE, so inserting asks too.
-- +goose StatementBegin
CREATE TRIGGER audit_records_replace BEFORE INSERT ON audit_records
WHEN EXISTS (SELECT 1 FROM audit_records WHERE sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'audit_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_records_update BEFORE UPDATE ON audit_records
BEGIN SELECT RAISE(ABORT, 'audit_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_records_delete BEFORE DELETE ON audit_records
BEGIN SELECT RAISE(ABORT, 'audit_records is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_replace BEFORE INSERT ON audit_head
WHEN EXISTS (SELECT 1 FROM audit_head)
BEGIN SELECT RAISE(ABORT, 'audit_head only advances'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_update BEFORE UPDATE ON audit_head
WHEN NEW.sequence <= OLD.sequence
BEGIN SELECT RAISE(ABORT, 'audit_head only advances'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_head_delete BEFORE DELETE ON audit_head
BEGIN SELECT RAISE(ABORT, 'audit_head only advances'); END;
-- +goose StatementEnd
