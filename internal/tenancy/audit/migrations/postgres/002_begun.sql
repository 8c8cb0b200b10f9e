-- +goose Up
CREATE TABLE audit_begun (
    id TEXT PRIMARY KEY,
    time BIGINT NOT NULL,
    record TEXT NOT NULL,
    signature TEXT NOT NULL
);
CREATE TABLE audit_sources (
    name TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    signature TEXT NOT NULL
);
