-- +goose Up

-- When the user of a session proved who they are, by password or at the provider. A session that was made from another one
-- has that one's; 0 is too long ago.
ALTER TABLE access_credentials ADD COLUMN proved BIGINT NOT NULL DEFAULT 0;

-- That of the session that approved the device.
ALTER TABLE access_devices ADD COLUMN proved BIGINT NOT NULL DEFAULT 0;
