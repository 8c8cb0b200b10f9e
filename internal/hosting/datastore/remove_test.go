package datastore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

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
	if err := env.store.Ensure(ctx, k); err != nil {
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

func TestKeyspacesFindsHalfRemoved(t *testing.T) {
	ctx, root := deadline(t), clientFor(t, "root")
	if err := env.store.Ensure(ctx, datastore.AdminKeyspace()); err != nil {
		t.Fatal(err)
	}
	var want []datastore.Keyspace
	for uid, steps := range map[string][]step{
		"c0000001":    {addUser},
		"c0000002":    {addRole},
		"c0000003":    {putKeys(2)}, // between known ones
		"c0000004":    {addRole, grantOwn(rw), addUser, grantRole(""), putKeys(1)},
		"c0000004-0":  {putKeys(1)}, // "-" sorts before "/"
		"c0000004-00": {addUser},
		"ffffffff":    {putKeys(1)}, // behind all
		"--------":    {putKeys(1)}, // before all
	} {
		k := keyspace(t, uid)
		for _, s := range steps {
			if err := s(ctx, root, k); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, k)
	}
	if err := putKeys(2)(ctx, root, datastore.AdminKeyspace()); err != nil {
		t.Fatal(err)
	}
	// What is no keyspace is neither listed nor in the way.
	for _, junk := range []string{"/kqueen/", "/kqueen/c0000002", "/kqueen/C0000002/x", "/kqueen/c000/x", "/kqueen//x", "/other/c0000009/x"} {
		if _, err := root.Put(ctx, junk, "junk"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := root.UserAddWithOptions(ctx, "kqueen-other", "", &clientv3.UserAddOptions{NoPassword: true}); err != nil {
		t.Fatal(err)
	}
	list := func() []datastore.Keyspace {
		t.Helper()
		got, err := env.store.Keyspaces(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := list()
	for _, k := range want {
		if !slices.Contains(got, k) {
			t.Errorf("%s is missing in %v", k.UID(), got)
		}
		if err := env.store.Remove(ctx, k); err != nil {
			t.Error(err)
		}
	}
	if slices.Contains(got, datastore.AdminKeyspace()) {
		t.Error("the admin plane's keyspace is listed: an orphan sweep would remove it")
	}
	if _, err := root.UserDelete(ctx, "kqueen-other"); err != nil {
		t.Error(err)
	}
	got = list()
	for _, k := range got {
		if slices.Contains(want, k) {
			t.Errorf("%s is listed after its removal", k.UID())
		}
		if k.Prefix() == "" || k.UID() == "c000" {
			t.Errorf("%q is listed", k.UID())
		}
	}
}
