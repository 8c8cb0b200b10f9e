package datastore

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Usage is what a keyspace takes up, without old revisions.
type Usage struct {
	Keys int64
	// Bytes of keys and values. What etcd needs beside them, some 40 bytes for each key in its file, is not in it.
	Bytes int64
}

// usageTimeout bounds the reading of a whole keyspace, as [Config.CallTimeout] bounds all other calls.
const usageTimeout = time.Minute

// Usage reads a whole keyspace, of one revision: etcd has no cheaper way to tell its size. It comes in pieces of about a
// megabyte, so that no other tenant's call waits for all of it, but it is read from the file and sent, so ask in
// minutes, not in seconds. A keyspace that changes so much meanwhile that the revision is compacted is an error.
func (s *Store) Usage(ctx context.Context, k Keyspace) (Usage, error) {
	if err := k.check(); err != nil {
		return Usage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	var u Usage
	// One member's own state is good enough, and does not bother the others.
	pieces, err := s.client.GetStream(ctx, k.Prefix(), clientv3.WithRange(k.end()), clientv3.WithSerializable())
	if err != nil {
		return Usage{}, fmt.Errorf("measure %s: %w", k.Prefix(), err)
	}
	for piece := range pieces {
		if err := piece.Err(); err != nil {
			return Usage{}, fmt.Errorf("measure %s: %w", k.Prefix(), err)
		}
		for _, kv := range piece.Kvs {
			u.Keys++
			u.Bytes += int64(len(kv.Key) + len(kv.Value))
		}
	}
	return u, nil
}
