-- +goose Up

-- Whether the token makes others.
ALTER TABLE access_credentials ADD COLUMN mint BOOLEAN NOT NULL DEFAULT FALSE;

-- The token that made it, with which it ends, whatever ends that.
ALTER TABLE access_credentials ADD COLUMN minted_by TEXT REFERENCES access_credentials (id) ON DELETE CASCADE;
CREATE INDEX access_credentials_minted_by ON access_credentials (minted_by);
