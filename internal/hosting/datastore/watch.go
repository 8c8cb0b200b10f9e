package datastore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Write is what became of one key.
type Write struct {
	Entry
	// Revision of the etcd at which it was written. Keys that one transaction wrote have the same one.
	Revision int64
	// Removed says that the key is gone, by a deletion or because its lease ended.
	Removed bool
}

// Writes are some that came one after the other.
type Writes struct {
	All []Write
	// Until is the revision up to which no write to the keyspace is missing.
	Until int64
	// Err is why no more come.
	Err error
}

// ErrCompacted says that etcd does not know any more what was written after a revision.
var ErrCompacted = errors.New("what was written then is compacted")

// errWatchEnded says that etcd has ended a watch without a reason.
var errWatchEnded = errors.New("the watch has ended")

// Revision is that of the etcd now: each write that was answered before has this or a smaller one.
func (s State) Revision(ctx context.Context) (int64, error) {
	if err := s.of.check(); err != nil {
		return 0, err
	}
	return SnapshotsOf(s.store).Revision(ctx)
}

// Had says whether a write is part of this etcd's past: one whose files were restored from a copy may have another past, with the same
// revisions. [ErrCompacted] says that it is not known any more.
func (s State) Had(ctx context.Context, w Write) (bool, error) {
	if err := s.of.check(); err != nil {
		return false, err
	}
	then, err := call(ctx, s.store, "ask etcd for what was written", func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.store.client.Get(ctx, s.of.Prefix()+w.Key, clientv3.WithRev(w.Revision))
	})
	if errors.Is(err, rpctypes.ErrCompacted) {
		return false, ErrCompacted
	}
	if errors.Is(err, rpctypes.ErrFutureRev) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(then.Kvs) == 0 {
		return w.Removed, nil
	}
	return !w.Removed && then.Kvs[0].ModRevision == w.Revision && bytes.Equal(then.Kvs[0].Value, w.Value), nil
}

// Watch tells of each write to a keyspace after a revision, in the order of revisions, until ctx ends or there is an error, which is the
// last thing that is told; [ErrCompacted] is one. Writes of keys with a lease, such as Events, are left out. Where nothing is written,
// it tells once in a while up to which revision that is so.
func (s State) Watch(ctx context.Context, after int64) <-chan Writes {
	told := make(chan Writes)
	go func() {
		defer close(told)
		tell := func(w Writes) bool {
			select {
			case told <- w:
				return true
			case <-ctx.Done():
				return false
			}
		}
		if err := s.of.check(); err != nil {
			tell(Writes{Err: err})
			return
		}
		// Without a leader etcd ends it: an etcd that is cut off from the others would tell of nothing, for as long as that lasts.
		events := s.store.client.Watch(clientv3.WithRequireLeader(ctx), s.of.Prefix(), clientv3.WithRange(s.of.end()),
			clientv3.WithRev(after+1), clientv3.WithProgressNotify())
		for r := range events {
			if err := r.Err(); err != nil {
				if errors.Is(err, rpctypes.ErrCompacted) {
					err = ErrCompacted
				}
				tell(Writes{Err: fmt.Errorf("watch %s: %w", s.of.Prefix(), err)})
				return
			}
			if w := s.writes(r); w.Until > 0 && !tell(w) {
				return
			}
		}
		tell(Writes{Err: fmt.Errorf("watch %s: %w", s.of.Prefix(), errWatchEnded)})
	}()
	return told
}

// writes is what one answer of a watch says.
func (s State) writes(r clientv3.WatchResponse) Writes {
	var w Writes
	for _, e := range r.Events {
		w.Until = e.Kv.ModRevision
		if e.Kv.Lease != 0 {
			continue
		}
		key := strings.TrimPrefix(string(e.Kv.Key), s.of.Prefix())
		w.All = append(w.All, Write{Entry{key, e.Kv.Value}, e.Kv.ModRevision, e.Type == clientv3.EventTypeDelete})
	}
	if r.IsProgressNotify() {
		w.Until = r.Header.Revision
	}
	return w
}

// AskProgress has all watches of the store tell up to which revision they have told all writes.
func (s State) AskProgress(ctx context.Context) error {
	if err := s.store.client.RequestProgress(clientv3.WithRequireLeader(ctx)); err != nil {
		return fmt.Errorf("ask etcd how far it has told: %w", err)
	}
	return nil
}
