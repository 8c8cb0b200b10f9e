package archive

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Log is a log of the changes of one keyspace, without a gap in its revisions: segments, each of which begins where the one before ends.
// Its bucket has logs of one owner alone, and no backups.
type Log struct {
	// Owner is the UID of what keeps the log, and Cluster and ControlPlane those of whose keyspace it is.
	Owner        string `json:"owner"`
	Cluster      string `json:"cluster"`
	ControlPlane string `json:"controlPlane"`
	// Name tells it from other logs of its owner. Those that began later come later in the order of names.
	Name string `json:"name"`
}

// Segment is a part of a log.
type Segment struct {
	Log
	// After is the revision at which it begins, and Until that at which it ends: it has each change with a revision in (After, Until].
	After int64 `json:"after"`
	Until int64 `json:"until"`
	// Since is from when on changes were told as they were made, and Complete when it was known last that none is missing.
	Since    time.Time `json:"since"`
	Complete time.Time `json:"complete"`
	// CaughtUp is the revision up to which changes were made before Since, while none was told. It is not known when.
	CaughtUp int64 `json:"caughtUp,omitempty"`
	// Version of Kubernetes that wrote what is in it.
	Version string `json:"version"`
	// Trust are fingerprints of the keys without which it cannot be read, as those of a backup.
	Trust map[string]string `json:"trust,omitempty"`
	// Changes come in the order of their revisions.
	Changes []Change `json:"-"`
}

// Change is what became of one key.
type Change struct {
	Revision int64
	// Time is when it was told, in milliseconds. It is never before that of the change before it.
	Time    time.Time
	Key     string
	Value   []byte
	Removed bool
}

// head is what is signed of a segment: all of it.
type head struct {
	Format int `json:"format"`
	Segment
	Count int    `json:"count"`
	SHA   string `json:"sha256"`
}

const (
	logsFolder = "log"
	// signedSegment is before what is signed of a segment.
	signedSegment = "kqueen changes\n"
	// mostSegment bounds the file of a segment: one transaction of etcd, beside what is gathered before it.
	mostSegment = mostStored
	// mostHead is more than any head has.
	mostHead = 64 << 10
)

func segmentFile(l Log, after int64) string {
	return fmt.Sprintf("%s/%s/%019d", logsFolder, l.Name, after)
}

// WriteSegment writes a segment, in the place of one that begins at the same revision, and reads it back.
func WriteSegment(ctx context.Context, to Bucket, k Keys, s Segment) error {
	file, err := k.encodeSegment(s)
	if err != nil {
		return err
	}
	name := segmentFile(s.Log, s.After)
	if err := to.Put(ctx, name, file); err != nil {
		return fmt.Errorf("write a part of the log of changes: %w", err)
	}
	back, err := to.Get(ctx, name, mostSegment)
	if err != nil {
		return fmt.Errorf("read back a part of the log of changes: %w", err)
	}
	if !bytes.Equal(back, file) {
		return errors.New("a part of the log of changes was read back, and is not what was written")
	}
	return nil
}

// ReadSegment reads the segment of a log that begins at a revision. One that is gone, changed, or of another log is a [*DamagedError].
func ReadSegment(ctx context.Context, from Bucket, k Keys, l Log, after int64) (Segment, error) {
	file, err := from.Get(ctx, segmentFile(l, after), mostSegment)
	if errors.Is(err, ErrNotFound) {
		return Segment{}, damaged("a part of the log of changes is gone: that after revision %d", after)
	}
	if err != nil {
		return Segment{}, fmt.Errorf("read the log of changes: %w", err)
	}
	s, err := k.decodeSegment(file)
	if err != nil {
		return Segment{}, err
	}
	if s.Log != l || s.After != after {
		return Segment{}, damaged("a part of the log of changes is that of another one: after revision %d of log %.60q of cluster %.40q", s.After, s.Name, s.Cluster)
	}
	return s, nil
}

// Logs returns the names of the logs in a bucket, and at which revision each of their segments begins, in order.
func Logs(ctx context.Context, from Bucket) (map[string][]int64, error) {
	names, err := from.List(ctx, logsFolder)
	if err != nil {
		return nil, fmt.Errorf("list the log of changes: %w", err)
	}
	logs := map[string][]int64{}
	for _, name := range names {
		after, err := strconv.ParseInt(path.Base(name), 10, 64)
		if err != nil || strings.Count(name, "/") != 2 { // it is none of ours
			continue
		}
		log := path.Base(path.Dir(name))
		logs[log] = append(logs[log], after)
	}
	for _, segments := range logs {
		slices.Sort(segments)
	}
	return logs, nil
}

// RemoveSegment removes a segment of a log. It is no error when there is none.
func RemoveSegment(ctx context.Context, from Bucket, l Log, after int64) error {
	if err := from.Delete(ctx, segmentFile(l, after)); err != nil {
		return fmt.Errorf("remove a part of the log of changes: %w", err)
	}
	return nil
}

// RemoveLogs removes all logs of a bucket.
func RemoveLogs(ctx context.Context, from Bucket) error {
	names, err := from.List(ctx, logsFolder)
	if err != nil {
		return fmt.Errorf("list the log of changes: %w", err)
	}
	for _, name := range names {
		if err := from.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove a part of the log of changes: %w", err)
		}
	}
	return nil
}

// encodeSegment returns the file of a segment: the signature (64 bytes in hexadecimal, "\n"), the head in JSON ("\n"), and the changes, by
// zstd, by age.
func (k Keys) encodeSegment(s Segment) ([]byte, error) {
	sealed, err := k.seal(encodeChanges(s.Since, s.After, s.Changes))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(head{Format: format, Segment: s, Count: len(s.Changes), SHA: digestOf(sealed)})
	if err != nil {
		return nil, fmt.Errorf("encode a part of the log of changes: %w", err)
	}
	signature := ed25519.Sign(k.sign, append([]byte(signedSegment), text...))
	file := append([]byte(hex.EncodeToString(signature)), '\n')
	file = append(append(file, text...), '\n')
	return append(file, sealed...), nil
}

// decodeSegment reads the file of a segment that these keys signed, and no other.
func (k Keys) decodeSegment(file []byte) (Segment, error) {
	first, rest, _ := bytes.Cut(file, []byte("\n"))
	text, sealed, found := bytes.Cut(rest, []byte("\n"))
	signature, err := hex.DecodeString(string(first))
	if !found || err != nil || len(text) > mostHead || !ed25519.Verify(k.sign.Public().(ed25519.PublicKey), append([]byte(signedSegment), text...), signature) {
		return Segment{}, damaged("a part of the log of changes is not signed with the key of its store: it is changed, cut off or from another store")
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return Segment{}, damaged("the head of a part of the log of changes is no JSON")
	}
	if h.Format != format {
		return Segment{}, fmt.Errorf("a part of the log of changes has format %d; this version of KQueen reads %d", h.Format, format)
	}
	if digestOf(sealed) != h.SHA {
		return Segment{}, damaged("a part of the log of changes is not what was written")
	}
	plain, err := k.open(sealed)
	if err != nil {
		return Segment{}, damaged("a part of the log of changes: %v", err)
	}
	s := h.Segment
	if s.Changes, err = decodeChanges(s.Since, s.After, plain); err != nil {
		return Segment{}, err
	}
	if len(s.Changes) != h.Count {
		return Segment{}, damaged("a part of the log of changes has %d changes; want %d", len(s.Changes), h.Count)
	}
	return s, nil
}
