-- +goose Up
-- bytes is what the rows of a cluster are charged, and kept_since from when on its history is kept where older one was removed because it was too much;
-- 0 where none was. size is what a row is charged; rows from before have 0.
ALTER TABLE inventory_clusters ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_clusters ADD COLUMN kept_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inventory_rows ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
