-- +goose Up
-- Texts are ordered by their bytes, as in SQLite, whatever the order of the database: pages depend on it.
CREATE TABLE inventory_clusters (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid TEXT COLLATE "C" NOT NULL UNIQUE,
    organization TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    as_of BIGINT NOT NULL,
    live BOOLEAN NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    ended BIGINT NOT NULL,
    -- pending is the time of changes of which a part is written; 0 when there are none. generation tells who writes them.
    pending BIGINT NOT NULL,
    generation BIGINT NOT NULL
);
CREATE INDEX inventory_clusters_name ON inventory_clusters (organization, name, uid);

CREATE TABLE inventory_labels (
    cluster BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (cluster, name)
);

CREATE TABLE inventory_kinds (
    cluster BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    items BIGINT NOT NULL,
    dropped BOOLEAN NOT NULL,
    PRIMARY KEY (cluster, kind)
);

CREATE TABLE inventory_contents (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    body TEXT COLLATE "C" NOT NULL
);
CREATE TABLE inventory_texts (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    text TEXT COLLATE "C" NOT NULL
);
CREATE TABLE inventory_images (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    reference TEXT COLLATE "C" NOT NULL,
    repository TEXT COLLATE "C" NOT NULL,
    tag TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL
);
CREATE INDEX inventory_images_name ON inventory_images (repository, tag, digest);
CREATE INDEX inventory_images_digest ON inventory_images (digest);
CREATE TABLE inventory_binaries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    component TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    managed BOOLEAN NOT NULL
);
CREATE INDEX inventory_binaries_name ON inventory_binaries (component, version, managed);

-- A row is an item from valid_from to before valid_to, which is the greatest number while it is so. subject is the image of
-- a container or the binary of a component, and span the class of how long the interval is: see span.go.
CREATE TABLE inventory_rows (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster BIGINT NOT NULL,
    kind SMALLINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    part TEXT COLLATE "C" NOT NULL,
    uid TEXT COLLATE "C" NOT NULL,
    content BIGINT NOT NULL,
    subject BIGINT NOT NULL,
    node BIGINT NOT NULL,
    span SMALLINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_to BIGINT NOT NULL
);
CREATE UNIQUE INDEX inventory_rows_open ON inventory_rows (cluster, kind, namespace, name, part, uid)
    WHERE valid_to = 9223372036854775807;
CREATE INDEX inventory_rows_cluster ON inventory_rows (cluster, kind, span, valid_from, valid_to);
CREATE INDEX inventory_rows_subject ON inventory_rows (subject, kind, cluster, span, valid_from, valid_to);
-- By these the content that no row uses is found.
CREATE INDEX inventory_rows_content ON inventory_rows (content);
CREATE INDEX inventory_rows_node ON inventory_rows (node);

-- When a subject was first and last in a cluster; last_seen is the greatest number while it is there.
CREATE TABLE inventory_seen (
    kind SMALLINT NOT NULL,
    subject BIGINT NOT NULL,
    cluster BIGINT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (kind, subject, cluster)
);
CREATE INDEX inventory_seen_subject ON inventory_seen (kind, subject, last_seen, first_seen, cluster);
CREATE INDEX inventory_seen_cluster ON inventory_seen (cluster, kind, last_seen, first_seen, subject);
