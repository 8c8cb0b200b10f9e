package datastore_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

func TestRemoveFromEveryState(t *testing.T) {
	root, n := clientFor(t, "root"), 0
	for name, steps := range states {
		n++
		k := keyspace(t, uidOf("d00000", n))
		// Neighbours on both sides whose names begin with the same characters.
		near := []string{k.Prefix()[:len(k.Prefix())-1], "/kqueen/" + k.UID() + "0/a", "/kqueen/" + k.UID() + "-/a"}
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			for _, s := range steps {
				if err := s(ctx, root, k); err != nil {
					t.Fatal(err)
				}
			}
			for _, key := range near {
				if _, err := root.Put(ctx, key, "neighbour"); err != nil {
					t.Fatal(err)
				}
			}
			tenant := clientFor(t, k.User())
			for range 2 {
				if err := env.store.Remove(ctx, k); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(wall{}, wallOf(t, root, k)); d != "" {
					t.Errorf("-want +got\n%s", d)
				}
				if u, err := env.store.Usage(ctx, k); err != nil || u.Keys != 0 {
					t.Errorf("usage %+v, %v; want 0 keys", u, err)
				}
			}
			if _, err := tenant.Put(ctx, k.Prefix()+"late", "x"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
				t.Errorf("late write of the removed tenant: got %v, want permission denied", err)
			}
			for _, key := range near {
				if r, err := root.Get(ctx, key); err != nil || r.Count != 1 {
					t.Errorf("neighbour %s is gone (%v)", key, err)
				}
				if _, err := root.Delete(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A tenant that writes as fast as it can while it is being removed leaves nothing behind.
func TestRemoveOfABusyTenant(t *testing.T) {
	ctx, k := deadline(t), keyspace(t, "b0510000")
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	tenant := clientFor(t, k.User())
	first, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			if _, err := tenant.Put(ctx, k.Prefix()+uidOf("k", i), "x"); err != nil {
				ended <- err
				return
			}
			if i == 20 {
				close(first)
			}
		}
	}()
	<-first
	if err := env.store.Remove(ctx, k); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("the tenant's writes ended with %v, want permission denied", err)
	}
	if u, err := env.store.Usage(ctx, k); err != nil || u.Keys != 0 {
		t.Errorf("usage %+v, %v; want 0 keys", u, err)
	}
}
