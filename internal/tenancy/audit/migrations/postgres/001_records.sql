-- +goose Up
CREATE TABLE audit_records (
    sequence BIGINT PRIMARY KEY,
    time BIGINT NOT NULL,
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
    status BIGINT NOT NULL,
    reason TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    detail TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX audit_records_organization ON audit_records (organization, sequence);
CREATE INDEX audit_records_actor ON audit_records (actor_name, sequence);
CREATE INDEX audit_records_object ON audit_records (object_name, sequence);
CREATE INDEX audit_records_time ON audit_records (time);

CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    sequence BIGINT NOT NULL,
    hash TEXT NOT NULL,
    signature TEXT NOT NULL
);

-- +goose StatementBegin
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_records_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_head_refuse BEFORE DELETE OR TRUNCATE ON audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_head_update BEFORE UPDATE ON audit_head
    FOR EACH ROW WHEN (NEW.sequence <= OLD.sequence) EXECUTE FUNCTION audit_refuse();
