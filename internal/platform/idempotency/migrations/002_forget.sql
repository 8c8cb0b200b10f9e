-- +goose Up

-- Until now answers were kept by the name of their caller alone, and with the secrets in them.
DELETE FROM idempotency_answers;
