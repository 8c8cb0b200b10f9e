-- +goose Up
-- By these the names of images are compared with a text, without what else is kept of each.
CREATE INDEX inventory_images_reference ON inventory_images (reference);
