-- +goose Up
CREATE TABLE audit_begun (
    id TEXT PRIMARY KEY,
    time INTEGER NOT NULL,
    record TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT;
CREATE TABLE audit_sources (
    name TEXT PRIMARY KEY,
    position TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT;
