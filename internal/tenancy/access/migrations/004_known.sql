-- +goose Up

-- From where users have signed in with a password: others' failed attempts do not lock them out there.
CREATE TABLE access_known (
    account         TEXT    NOT NULL REFERENCES access_accounts (name) ON DELETE CASCADE,
    source          TEXT    NOT NULL,
    last            BIGINT  NOT NULL,
    PRIMARY KEY (account, source)
);
CREATE INDEX access_known_last ON access_known (last);
