package datastore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// TestFullStoreTakesWritesAgain: a store that is full refuses the writes of all, and goes on doing so after its tenants have
// deleted what filled it. Maintain ends that, and gives the space back.
func TestFullStoreTakesWritesAgain(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "f0110000")
	if done, err := env.store.Maintain(ctx); err != nil || len(done.Lifted) > 0 {
		t.Fatalf("of a store that is well: got %+v, %v", done, err)
	}
	fill(t, root, k)
	if _, err := root.Delete(ctx, k.Prefix(), clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Put(ctx, k.Prefix()+"a", "x"); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("got %v, want that etcd by itself does not take writes again", err)
	}
	before, err := env.store.Health(ctx)
	if err != nil || len(before.Alarms) != 1 {
		t.Fatalf("got %+v, %v; want one alarm", before, err)
	}
	done, err := env.store.Maintain(ctx)
	if err != nil || len(done.Lifted) != 1 || len(done.Shrunk) != 1 || done.Freed < 32<<20 {
		t.Errorf("got %+v, %v; want one member that is smaller and takes writes again", done, err)
	}
	if _, err := root.Put(ctx, k.Prefix()+"a", "x"); err != nil {
		t.Error(err)
	}
	after, err := env.store.Health(ctx)
	if err != nil || len(after.Alarms) > 0 || after.DBBytes >= before.DBBytes/2 {
		t.Errorf("got %+v, %v; want no alarm, and less than half of %d bytes", after, err, before.DBBytes)
	}
}

// fill writes until the store is full of data and stays closed. A full etcd may have some megabytes free in its file: as
// long as Maintain finds such, and the store takes writes again, it is filled once more.
func fill(t *testing.T, root *clientv3.Client, k datastore.Keyspace) {
	t.Helper()
	large := strings.Repeat("L", 1<<20)
	const most = 10
	for i, round := 0, 0; round < most; round++ {
		var full error
		for ; full == nil; i++ {
			_, full = root.Put(t.Context(), fmt.Sprintf("%s%05d", k.Prefix(), i), large)
		}
		if !errors.Is(full, rpctypes.ErrNoSpace) {
			t.Fatalf("got %v, want that the store is full", full)
		}
		done, err := env.store.Maintain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(done.Lifted) == 0 {
			return
		}
	}
	t.Fatalf("filled %d times, and it takes writes again each time", most)
}
