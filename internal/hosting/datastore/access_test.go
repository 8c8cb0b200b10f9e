package datastore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// wall is what etcd holds of a keyspace's access control, in words.
type wall struct {
	Grants []string // of the role; nil: no role
	Roles  []string // of the user; nil: no user
}

func wallOf(t *testing.T, root *clientv3.Client, k datastore.Keyspace) wall {
	t.Helper()
	var w wall
	if r, err := root.RoleGet(t.Context(), k.User()); err == nil {
		w.Grants = []string{}
		for _, p := range r.Perm {
			w.Grants = append(w.Grants, fmt.Sprintf("%s %q %q", p.PermType, p.Key, p.RangeEnd))
		}
	}
	if u, err := root.UserGet(t.Context(), k.User()); err == nil {
		w.Roles = append([]string{}, u.Roles...)
	}
	return w
}

func rightWall(k datastore.Keyspace) wall {
	p := k.Prefix()
	return wall{Grants: []string{fmt.Sprintf("READWRITE %q %q", p, p[:len(p)-1]+"0")}, Roles: []string{k.User()}}
}

// A step is what another process may have done to a keyspace before it died, or what an operator did by hand.
type step func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error

func addUser(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
	_, err := c.UserAddWithOptions(ctx, k.User(), "", &clientv3.UserAddOptions{NoPassword: true})
	return err
}

func addRole(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
	_, err := c.RoleAdd(ctx, k.User())
	return err
}

// grantRole gives the user a role; "" means its own.
func grantRole(role string) step {
	return func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
		_, err := c.UserGrantRole(ctx, k.User(), cmp.Or(role, k.User()))
		return err
	}
}

func grant(key, end string, typ clientv3.PermissionType) step {
	return func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
		_, err := c.RoleGrantPermission(ctx, k.User(), key, end, typ)
		return err
	}
}

func grantOwn(typ clientv3.PermissionType) step {
	return func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
		return grant(k.Prefix(), clientv3.GetPrefixRangeEnd(k.Prefix()), typ)(ctx, c, k)
	}
}

func grantOwnTo(end string) step {
	return func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
		return grant(k.Prefix(), end, clientv3.PermissionType(clientv3.PermReadWrite))(ctx, c, k)
	}
}

func putKeys(n int) step {
	return func(ctx context.Context, c *clientv3.Client, k datastore.Keyspace) error {
		for i := range n {
			if _, err := c.Put(ctx, fmt.Sprintf("%s%05d", k.Prefix(), i), "x"); err != nil {
				return err
			}
		}
		return nil
	}
}

const rw = clientv3.PermissionType(clientv3.PermReadWrite)

// states are the half-done and the wrong states of a keyspace.
var states = map[string][]step{
	"nothing":             {},
	"role only":           {addRole},
	"role and grant":      {addRole, grantOwn(rw)},
	"user only":           {addUser},
	"role, user":          {addRole, grantOwn(rw), addUser},
	"complete":            {addRole, grantOwn(rw), addUser, grantRole("")},
	"read-only grant":     {addRole, grantOwn(clientv3.PermissionType(clientv3.PermRead)), addUser, grantRole("")},
	"wider grant":         {addRole, grant("/", "0", rw), addUser, grantRole("")},
	"wider grant and own": {addRole, grantOwn(rw), grant("/", "0", rw), addUser, grantRole("")},
	"same key, open end":  {addRole, grantOwnTo("\x00"), addUser, grantRole("")},
	"same key, two ends":  {addRole, grantOwn(clientv3.PermissionType(clientv3.PermRead)), grantOwnTo("\x00"), grantOwnTo(""), addUser, grantRole("")},
	"extra role":          {addRole, grantOwn(rw), addUser, grantRole(""), grantRole("root")},
	"only a foreign role": {addUser, grantRole("root")},
	"keys only":           {putKeys(3)},
	"keys, no user":       {addRole, grantOwn(rw), putKeys(3)},
	"all and many keys":   {addRole, grantOwn(rw), addUser, grantRole(""), putKeys(1203)},
}

func uidOf(kind string, n int) string { return fmt.Sprintf("%s-%04d", kind, n) }

func TestEnsureConvergesFromEveryState(t *testing.T) {
	root, n := clientFor(t, "root"), 0
	for name, steps := range states {
		n++
		k := keyspace(t, uidOf("e00000", n))
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			for _, s := range steps {
				if err := s(ctx, root, k); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
					t.Fatal(err)
				}
				if d := gocmp.Diff(rightWall(k), wallOf(t, root, k)); d != "" {
					t.Errorf("-want +got\n%s", d)
				}
			}
			if _, err := clientFor(t, k.User()).Put(ctx, k.Prefix()+"a", "b"); err != nil {
				t.Errorf("write as the tenant: %v", err)
			}
		})
	}
}

func TestEnsureWritesNothingWhenAllIsWell(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "e11e0000")
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	before, err := root.AuthStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	after, err := root.AuthStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if before.AuthRevision != after.AuthRevision {
		t.Errorf("auth revision went from %d to %d: every change makes etcd rebuild the grants of all tenants", before.AuthRevision, after.AuthRevision)
	}
}

// TestEnsureReadsLittleWhenNothingChanged: each read of users and roles is a proposal, which etcd writes to its log. A keyspace that was found
// good costs one of them until something is changed, by whomever, and that is repaired.
func TestEnsureReadsLittleWhenNothingChanged(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "e22e0000")
	proposals := func() uint64 {
		status, err := root.Status(ctx, root.Endpoints()[0])
		if err != nil {
			t.Fatal(err)
		}
		return status.RaftIndex
	}
	var cost []uint64
	ensure := func() {
		before := proposals()
		if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
			t.Fatal(err)
		}
		cost = append(cost, proposals()-before)
	}
	ensure()
	cost = nil // that of making it
	ensure()
	ensure()
	ensure()
	if err := grant("/", "0", rw)(ctx, root, k); err != nil {
		t.Fatal(err)
	}
	ensure()
	if d := gocmp.Diff(rightWall(k), wallOf(t, root, k)); d != "" {
		t.Errorf("after a wider grant: -want +got\n%s", d)
	}
	// The second: what the first one had made was changed since it looked. The last: a read of all, the change, and a read of what it made of it.
	if want := []uint64{3, 1, 1, 5}; !slices.Equal(cost, want) {
		t.Errorf("proposals of each call: got %v, want %v", cost, want)
	}
}

// TestEnsureReadOnly: a tenant that writes without a pause has written nothing any more once Ensure has taken that right, and reads and watches
// go on; Ensure lets it write again.
func TestEnsureReadOnly(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "e00d0000")
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	tenant := clientFor(t, k.User())
	counter := k.Prefix() + "counter"
	seen := tenant.Watch(ctx, counter)
	refused := make(chan error, 4)
	for range cap(refused) {
		go func() {
			for {
				if _, err := tenant.Put(ctx, counter, "by the tenant"); err != nil {
					refused <- err
					return
				}
			}
		}()
	}
	if event := <-seen; event.Err() != nil {
		t.Fatal(event.Err())
	}
	if err := env.store.Ensure(ctx, k, datastore.ReadOnly); err != nil {
		t.Fatal(err)
	}
	of := func() int64 {
		t.Helper()
		found, err := tenant.Get(ctx, counter)
		if err != nil || len(found.Kvs) != 1 {
			t.Fatalf("read as the tenant: %v, %v", found, err)
		}
		return found.Kvs[0].Version
	}
	last := of()
	for range cap(refused) {
		if err := <-refused; !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("a write ended with %v", err)
		}
	}
	if now := of(); now != last {
		t.Errorf("%d writes were done behind Ensure", now-last)
	}
	if _, err := root.Put(ctx, counter, "by root"); err != nil {
		t.Fatal(err)
	}
	for event := range seen {
		if event.Err() != nil {
			t.Fatal(event.Err())
		}
		if n := len(event.Events); string(event.Events[n-1].Kv.Value) == "by root" {
			break
		}
	}
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.Put(ctx, counter, "again"); err != nil {
		t.Errorf("write as the tenant: %v", err)
	}
}

func TestEnsureAdmin(t *testing.T) {
	ctx, k := deadline(t), datastore.AdminKeyspace()
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(rightWall(k), wallOf(t, clientFor(t, "root"), k)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if k.Prefix() != "/kqueen-admin/" || k.User() != "kqueen-admin" {
		t.Errorf("got %q, %q", k.Prefix(), k.User())
	}
	if err := env.store.Remove(ctx, k); err == nil {
		t.Error("the admin plane's keyspace was removed")
	}
	if d := gocmp.Diff(rightWall(k), wallOf(t, clientFor(t, "root"), k)); d != "" {
		t.Errorf("after the refusal: -want +got\n%s", d)
	}
}

// Twenty keyspaces at once, each by two callers, while a tenant that is already there goes on writing.
func TestEnsureInParallel(t *testing.T) {
	ctx, old := deadline(t), keyspace(t, "0fff0000")
	if err := env.store.Ensure(ctx, old, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	tenant := clientFor(t, old.User())
	made := make(chan struct{})
	var writes errgroup.Group
	writes.Go(func() error {
		for i := 0; ; i++ {
			select {
			case <-made:
				return nil
			default:
			}
			if _, err := tenant.Put(ctx, old.Prefix()+"counter", fmt.Sprint(i)); err != nil {
				return fmt.Errorf("write %d of the old tenant: %w", i, err)
			}
		}
	})
	var g errgroup.Group
	for i := range 40 {
		k := keyspace(t, uidOf("9a0000", i/2))
		g.Go(func() error { return env.store.Ensure(ctx, k, datastore.ReadWrite) })
	}
	err := g.Wait()
	close(made)
	if err := errors.Join(err, writes.Wait()); err != nil {
		t.Fatal(err)
	}
	root := clientFor(t, "root")
	for i := range 20 {
		k := keyspace(t, uidOf("9a0000", i))
		if d := gocmp.Diff(rightWall(k), wallOf(t, root, k)); d != "" {
			t.Errorf("%s: -want +got\n%s", k.UID(), d)
		}
	}
}

// The states in which a death can leave Secure. With access control off the same etcd plays the fresh one.
func TestSecureConvergesFromEveryState(t *testing.T) {
	type act func(context.Context, *clientv3.Client) error
	user := func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true})
		return err
	}
	role := func(ctx context.Context, c *clientv3.Client) error { _, err := c.RoleAdd(ctx, "root"); return err }
	grant := func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.UserGrantRole(ctx, "root", "root")
		return err
	}
	cases := map[string][]act{
		"fresh":      {},
		"user":       {user},
		"role":       {role},
		"user, role": {user, role},
		"all but on": {user, role, grant},
	}
	for name, acts := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, root := deadline(t), clientFor(t, "root")
			if _, err := root.AuthDisable(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := root.UserDelete(ctx, "root"); err != nil {
				t.Fatal(err)
			}
			if _, err := root.RoleDelete(ctx, "root"); err != nil {
				t.Fatal(err)
			}
			for _, a := range acts {
				if err := a(ctx, root); err != nil {
					t.Fatal(err)
				}
			}
			if err := env.store.Ensure(ctx, keyspace(t, "5ec00000"), datastore.ReadWrite); !errors.Is(err, datastore.ErrUnguarded) {
				t.Errorf("Ensure without access control: got %v, want ErrUnguarded", err)
			}
			for range 2 {
				if err := env.store.Secure(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if s, err := root.AuthStatus(ctx); err != nil || !s.Enabled {
				t.Errorf("access control is off: %v, %v", s, err)
			}
			if _, err := clientFor(t, "kqueen-nobody").Get(ctx, "/a"); err == nil {
				t.Error("an unknown user may read")
			}
		})
	}
}
