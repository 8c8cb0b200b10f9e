-- +goose Up

-- Users and service accounts. Their names cannot meet: only those of providers and service accounts have a colon.
CREATE TABLE access_accounts (
    name            TEXT    NOT NULL PRIMARY KEY,
    kind            TEXT    NOT NULL,               -- user, serviceAccount
    display_name    TEXT    NOT NULL DEFAULT '',
    email           TEXT    NOT NULL DEFAULT '',
    admin           BOOLEAN NOT NULL DEFAULT FALSE, -- said by an administrator
    disabled        BOOLEAN NOT NULL DEFAULT FALSE,
    epoch           BIGINT  NOT NULL,               -- credentials of another epoch are good for nothing
    created         BIGINT  NOT NULL,
    signed_in       BIGINT  NOT NULL DEFAULT 0,
    password        TEXT    NOT NULL DEFAULT '',    -- PHC string; empty: no sign-in with a password
    provider        TEXT    NOT NULL DEFAULT '',    -- empty for local users and service accounts
    issuer          TEXT    NOT NULL DEFAULT '',
    subject         TEXT,                           -- of the issuer
    group_names     TEXT    NOT NULL DEFAULT '[]',  -- JSON; those of the last sign-in at the provider
    groups_admin    BOOLEAN NOT NULL DEFAULT FALSE, -- said by those groups
    organization    TEXT    NOT NULL DEFAULT '',    -- of a service account
    role            TEXT    NOT NULL DEFAULT '',    -- of a service account
    UNIQUE (issuer, provider, subject)
);
CREATE INDEX access_accounts_organization ON access_accounts (organization, name);

-- Sessions, API tokens, tokens of service accounts.
CREATE TABLE access_credentials (
    id              TEXT    NOT NULL PRIMARY KEY,
    kind            TEXT    NOT NULL,               -- the prefix of the token
    hash            BYTEA   NOT NULL,
    account         TEXT    NOT NULL REFERENCES access_accounts (name) ON DELETE CASCADE,
    epoch           BIGINT  NOT NULL,
    name            TEXT    NOT NULL,
    created         BIGINT  NOT NULL,
    expires         BIGINT  NOT NULL,
    idle            BIGINT  NOT NULL DEFAULT 0,     -- microseconds without use after which it ends; 0: none
    last_used       BIGINT  NOT NULL,
    organization    TEXT    NOT NULL DEFAULT '',    -- the scope; empty: everything that the account may
    role            TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX access_credentials_account ON access_credentials (account, id);
CREATE INDEX access_credentials_expires ON access_credentials (expires);

-- What is good for one act.
CREATE TABLE access_once (
    id              TEXT    NOT NULL PRIMARY KEY,
    purpose         TEXT    NOT NULL,
    hash            BYTEA   NOT NULL,
    account         TEXT    REFERENCES access_accounts (name) ON DELETE CASCADE,
    epoch           BIGINT  NOT NULL DEFAULT 0,
    source          TEXT    NOT NULL DEFAULT '',    -- where it was asked for, when every caller may ask
    data            TEXT    NOT NULL DEFAULT '',
    expires         BIGINT  NOT NULL
);
CREATE INDEX access_once_purpose ON access_once (purpose, source);
CREATE INDEX access_once_expires ON access_once (expires);

-- Device authorizations (RFC 8628).
CREATE TABLE access_devices (
    id              TEXT    NOT NULL PRIMARY KEY,
    hash            BYTEA   NOT NULL,               -- of the device code
    user_code       BYTEA   NOT NULL UNIQUE,        -- a hash
    client          TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    state           TEXT    NOT NULL,               -- pending, approved, denied
    account         TEXT    REFERENCES access_accounts (name) ON DELETE CASCADE,
    epoch           BIGINT  NOT NULL DEFAULT 0,
    created         BIGINT  NOT NULL,
    expires         BIGINT  NOT NULL,
    period          BIGINT  NOT NULL,               -- microseconds between two polls
    polled          BIGINT  NOT NULL
);
CREATE INDEX access_devices_source ON access_devices (source);
CREATE INDEX access_devices_expires ON access_devices (expires);

-- Attempts that failed in a row, by what is guessed and by who guesses.
CREATE TABLE access_guesses (
    target          TEXT    NOT NULL PRIMARY KEY,
    failures        BIGINT  NOT NULL,
    last            BIGINT  NOT NULL,
    until           BIGINT  NOT NULL
);
CREATE INDEX access_guesses_last ON access_guesses (last);
CREATE INDEX access_guesses_failures ON access_guesses (failures, last);
