-- +goose Up

-- With which session or token a user got a credential for something else, and until when that is good. A row outlives
-- what it names: then those who accept the credential are told to refuse it.
CREATE TABLE access_entries (
    audience        TEXT    NOT NULL,               -- who takes the credential
    credential      TEXT    NOT NULL,               -- id of the session or token
    account         TEXT    NOT NULL,
    until           BIGINT  NOT NULL,
    PRIMARY KEY (audience, credential)
);
CREATE INDEX access_entries_until ON access_entries (until);
