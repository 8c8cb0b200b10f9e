package datastore

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Entry is one key of a keyspace and its value. Key is without the keyspace's prefix, such as "pods/default/web".
type Entry struct {
	Key   string
	Value []byte
}

// streamTimeout bounds the reading of a whole keyspace by [State.Entries], between whose entries its caller may write.
const streamTimeout = 10 * time.Minute

// State is what is in a keyspace.
type State struct {
	store *Store
	of    Keyspace
}

// State returns what is in a keyspace, to be read and written as a whole. It makes no call.
func (s *Store) State(of Keyspace) State { return State{s, of} }

// Entries reads a whole keyspace, of one revision, in the order of its keys, which are unique. Keys with a lease, such as Events,
// are left out: they expire by themselves. revision is set when the last entry was read, and says of which revision they are. The
// first error is the last of the sequence. A keyspace that changes so much meanwhile that the revision is compacted is an error.
func (s State) Entries(ctx context.Context, revision *int64) iter.Seq2[Entry, error] {
	return s.entries(ctx, "", revision)
}

// Below reads the keys below a folder such as "secrets/", as [State.Entries] reads all.
func (s State) Below(ctx context.Context, folder string) iter.Seq2[Entry, error] {
	return s.entries(ctx, folder, nil)
}

func (s State) entries(ctx context.Context, folder string, revision *int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		k := s.of
		if err := k.check(); err != nil {
			yield(Entry{}, err)
			return
		}
		ctx, cancel := context.WithTimeout(ctx, streamTimeout)
		defer cancel()
		from := k.Prefix() + folder
		pieces, err := s.store.client.GetStream(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(from)))
		if err != nil {
			yield(Entry{}, fmt.Errorf("read %s: %w", k.Prefix(), err))
			return
		}
		for piece := range pieces {
			if err := piece.Err(); err != nil {
				yield(Entry{}, fmt.Errorf("read %s: %w", k.Prefix(), err))
				return
			}
			for _, kv := range piece.Kvs {
				if kv.Lease == 0 && !yield(Entry{strings.TrimPrefix(string(kv.Key), k.Prefix()), kv.Value}, nil) {
					return
				}
			}
			if piece.Header != nil && revision != nil {
				*revision = piece.Header.Revision
			}
		}
	}
}
