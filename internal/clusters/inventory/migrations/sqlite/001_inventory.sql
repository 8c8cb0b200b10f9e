-- +goose Up
CREATE TABLE inventory_clusters (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    organization TEXT NOT NULL,
    name TEXT NOT NULL,
    labels TEXT NOT NULL,
    since INTEGER NOT NULL,
    as_of INTEGER NOT NULL,
    live INTEGER NOT NULL,
    message TEXT NOT NULL,
    ended INTEGER NOT NULL,
    -- pending is the time of changes of which a part is written; 0 when there are none. generation tells who writes them.
    pending INTEGER NOT NULL,
    generation INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_clusters_name ON inventory_clusters (organization, name, uid);

CREATE TABLE inventory_labels (
    cluster INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (cluster, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE inventory_kinds (
    cluster INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    items INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    PRIMARY KEY (cluster, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE inventory_contents (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE inventory_texts (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE inventory_images (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    reference TEXT NOT NULL,
    repository TEXT NOT NULL,
    tag TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE INDEX inventory_images_name ON inventory_images (repository, tag, digest);
CREATE INDEX inventory_images_digest ON inventory_images (digest);
CREATE TABLE inventory_binaries (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    component TEXT NOT NULL,
    version TEXT NOT NULL,
    managed INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_binaries_name ON inventory_binaries (component, version, managed);

-- A row is an item from valid_from to before valid_to, which is the greatest number while it is so. subject is the image of
-- a container or the binary of a component, and span the class of how long the interval is: see span.go.
CREATE TABLE inventory_rows (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    part TEXT NOT NULL,
    uid TEXT NOT NULL,
    content INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    node INTEGER NOT NULL,
    span INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX inventory_rows_open ON inventory_rows (cluster, kind, namespace, name, part, uid)
    WHERE valid_to = 9223372036854775807;
CREATE INDEX inventory_rows_cluster ON inventory_rows (cluster, kind, span, valid_from, valid_to);
CREATE INDEX inventory_rows_subject ON inventory_rows (subject, kind, cluster, span, valid_from, valid_to);
-- By these the content that no row uses is found.
CREATE INDEX inventory_rows_content ON inventory_rows (content);
CREATE INDEX inventory_rows_node ON inventory_rows (node);

-- When a subject was first and last in a cluster; last_seen is the greatest number while it is there.
CREATE TABLE inventory_seen (
    kind INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    cluster INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (kind, subject, cluster)
) STRICT, WITHOUT ROWID;
CREATE INDEX inventory_seen_subject ON inventory_seen (kind, subject, last_seen, first_seen, cluster);
CREATE INDEX inventory_seen_cluster ON inventory_seen (cluster, kind, last_seen, first_seen, subject);
