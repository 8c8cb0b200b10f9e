-- Which database this is: a backup of it that is restored is the same one, and an empty one is not.

-- +goose Up
CREATE TABLE database_identity (
	one BIGINT PRIMARY KEY CHECK (one = 1),
	id TEXT NOT NULL
);
