-- +goose Up
CREATE TABLE idempotency_answers (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    request TEXT NOT NULL,
    claim TEXT NOT NULL,
    expires BIGINT NOT NULL,
    key_id TEXT NOT NULL,
    answer BYTEA
);
CREATE INDEX idempotency_answers_caller ON idempotency_answers (caller);
CREATE INDEX idempotency_answers_expires ON idempotency_answers (expires);
