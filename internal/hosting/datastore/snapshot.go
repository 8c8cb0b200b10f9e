package datastore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// revisionBump is by how much a restored store's revisions go on: more than an etcd can have written after its snapshot was taken, so
	// that no client is told of another state under a revision that it has seen.
	revisionBump = 1_000_000_000
	// anyPeerPort is for the record of a member that is alone, and follows its flags.
	anyPeerPort = 2380
)

// Snapshots are those of a whole store.
type Snapshots struct{ store *Store }

// SnapshotsOf takes snapshots of a store, as long as that is open.
func SnapshotsOf(s *Store) Snapshots { return Snapshots{s} }

// Revision is the store's present one.
func (s Snapshots) Revision(ctx context.Context) (int64, error) {
	now, err := call(ctx, s.store, "ask etcd for its revision", func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.store.client.Get(ctx, "/", clientv3.WithLimit(1), clientv3.WithKeysOnly())
	})
	if err != nil {
		return 0, err
	}
	return now.Header.Revision, nil
}

// Snapshot begins to read all that the store holds: keys, history, users, roles and leases. It is the state of a moment between the call
// and its return, whatever is written later. As long as it is not read and closed, the store cannot make its file smaller. [Restore] takes
// what was read.
func (s Snapshots) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	// That it begins is one call; how long it takes depends on how much there is.
	late := time.AfterFunc(s.store.timeout, func() { cancel(context.DeadlineExceeded) })
	taken, err := s.store.client.SnapshotWithVersion(ctx)
	if !late.Stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return &stream{taken.Snapshot, func() { cancel(nil) }}, nil
}

// stream is a snapshot that etcd sends until it is closed: before that etcd keeps it.
type stream struct {
	io.ReadCloser
	cancel func()
}

func (s *stream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// Restore makes the data directory of an etcd that is alone, of a snapshot in a file. There must be no such directory. Name is that of
// the member: see [ServerConfig].
//
// Revisions go on far behind those of the snapshot, and all earlier ones are compacted: a client that watches from a revision that it has
// seen before is told that it has to list again, and not that nothing has changed.
func Restore(name, file, dir string) (err error) {
	var said bytes.Buffer
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&said), zapcore.ErrorLevel)
	// Some of etcd's code ends the program where it cannot go on.
	log := zap.New(core, zap.WithFatalHook(zapcore.WriteThenPanic))
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("restore etcd from a snapshot: %v: %s", problem, strings.TrimSpace(said.String()))
		}
	}()
	if err := checkSnapshot(file); err != nil {
		return err
	}
	peer := loopbackURL(anyPeerPort)
	err = snapshot.NewV3(log).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, Name: name, OutputDataDir: dir,
		PeerURLs: []string{peer}, InitialCluster: name + "=" + peer, InitialClusterToken: clusterToken(name),
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("restore etcd from a snapshot: %w", err)
	}
	return nil
}

// errNoSnapshot says that a file is none, or not a whole one.
var errNoSnapshot = errors.New("it is no whole snapshot of etcd: the checksum at its end does not fit")

// checkSnapshot checks the checksum at the end of a snapshot, which etcd's own code leaves out where the length says that there is none.
func checkSnapshot(file string) error {
	from, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	content := info.Size() - sha256.Size
	if content <= 0 {
		return fmt.Errorf("read %s: %w", file, errNoSnapshot)
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, from, content); err != nil {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	want, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("read %s: %w", file, errNoSnapshot)
	}
	return nil
}
