package storegate

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/platform/freeport"
)

// fill writes objects of 16 KiB until the gate refuses one, and returns how many there are.
func fill(ctx context.Context, t *testing.T, c *clientv3.Client, prefix string, most int) int {
	t.Helper()
	for n := range most {
		_, err := c.Put(ctx, prefix+"fill/"+strconv.Itoa(n), strings.Repeat("x", 16<<10))
		if status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "store quota exceeded") {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%d objects were taken", most)
	return 0
}

// TestQuota: what grows beyond the quota of all of an organization's control planes is refused, and nothing else.
func TestQuota(t *testing.T) {
	const quota = 256 << 10
	r, ctx := newRig(t), deadline(t)
	a := r.tenant(t, "aaaaaaaa-6001", "org-a", quota)
	b, other := r.tenant(t, "aaaaaaaa-6002", "org-a", quota), r.tenant(t, "aaaaaaaa-6003", "org-b", noQuota)
	c, p := r.as(t, a), a.Prefix()
	if err := r.table.Remove(b.UID()); err != nil {
		t.Fatal(err)
	}
	r.file.Look()
	// It was there before the gate counted.
	if _, err := direct(t, b).Put(ctx, b.Prefix()+"before", strings.Repeat("x", 96<<10)); err != nil {
		t.Fatal(err)
	}
	r.letIn(t, b, "org-a", quota)
	if n := fill(ctx, t, c, p, 100); n != 9 { // of 16 KiB and their keys, in 160 KiB
		t.Errorf("%d objects were taken", n)
	}
	first, large := p+"fill/0", strings.Repeat("y", 16<<10)
	update := func(value string) error {
		_, err := c.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(first), ">", 0)).Then(clientv3.OpPut(first, value)).Else(clientv3.OpGet(first)).Commit()
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		want codes.Code
	}{
		"an update of the same size": {update(large), codes.OK},
		"a little more":              {update(large + strings.Repeat("z", 1000)), codes.OK},
		"much more":                  {update(large + large), codes.ResourceExhausted},
	} {
		if status.Code(tc.err) != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.err, tc.want)
		}
	}
	if _, err := r.as(t, b).Put(ctx, b.Prefix()+"more", large); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("another control plane of the organization: %v", err)
	}
	if _, err := r.as(t, other).Put(ctx, other.Prefix()+"more", large); err != nil {
		t.Errorf("another organization: %v", err)
	}
	if _, err := c.Delete(ctx, p+"fill/1"); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	await(t, "space after the deletion", func() bool {
		_, err := c.Put(ctx, p+"again", large)
		return err == nil
	})
	if err := update("small"); err != nil {
		t.Errorf("what gets smaller: %v", err)
	}
	if _, err := c.Put(ctx, p+"again/2", large); err != nil {
		t.Errorf("what became free: %v", err)
	}
	r.letIn(t, a, "org-a", noQuota)
	if _, err := c.Put(ctx, p+"unbounded", strings.Repeat("x", 1<<20)); err != nil {
		t.Errorf("without a quota: %v", err)
	}
}

// TestQuotaAtOnce: requests at the same moment take no more than there is together.
func TestQuotaAtOnce(t *testing.T) {
	const quota = 512 << 10
	r, ctx := newRig(t), deadline(t)
	k := r.tenant(t, "aaaaaaaa-6101", "org-a", quota)
	c := r.as(t, k)
	var all sync.WaitGroup
	for n := range 32 {
		all.Go(func() { _, _ = c.Put(ctx, k.Prefix()+strconv.Itoa(n), strings.Repeat("x", 64<<10)) })
	}
	all.Wait()
	used, err := env.store.Usage(ctx, k)
	if err != nil || used.Bytes > quota || used.Keys != 7 {
		t.Errorf("%d bytes in %d objects, %v, want 7 objects of a little more than 64 KiB within %d", used.Bytes, used.Keys, err, quota)
	}
}

// TestCountStaysRight: after any operations, at once and in any order, the count is what a measurement says.
func TestCountStaysRight(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	k := r.tenant(t, "aaaaaaaa-6201", "org-a", 1<<40)
	c, p := r.as(t, k), k.Prefix()
	if _, err := c.Put(ctx, p+"0", "first"); err != nil { // it begins to count
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w))) // to be repeated
			for range 150 {
				if err := anything(ctx, c, p, random); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	used, err := env.store.Usage(ctx, k)
	if err != nil || used.Keys == 0 {
		t.Fatal(used, err)
	}
	counted := r.gate.tenants[k.User()].count
	await(t, fmt.Sprintf("a count of %d bytes", used.Bytes), func() bool {
		held, known := counted.held()
		return known && held == used.Bytes
	})
}

// anything does one thing to a few keys.
func anything(ctx context.Context, c *clientv3.Client, p string, random *rand.Rand) error {
	key := func() string { return p + strconv.Itoa(random.IntN(20)) }
	value := func() string { return strings.Repeat("v", random.IntN(2000)) }
	var err error
	switch random.IntN(7) {
	case 0:
		_, err = c.Delete(ctx, key())
	case 1:
		_, err = c.Delete(ctx, p+"1", clientv3.WithRange(p+"12"))
	case 2:
		k := key()
		_, err = c.Txn(ctx).If(clientv3.Compare(clientv3.Version(k), ">", 0)).Then(clientv3.OpDelete(k)).Else(clientv3.OpPut(k, value()), clientv3.OpPut(p+"else", value())).Commit()
	case 3:
		_, err = c.Txn(ctx).Then(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(key(), value(), clientv3.WithPrevKV())}, nil)).Commit()
	case 4:
		var lease *clientv3.LeaseGrantResponse
		if lease, err = c.Grant(ctx, 60); err == nil {
			_, err = c.Put(ctx, key(), value(), clientv3.WithLease(lease.ID))
		}
		if err == nil && random.IntN(2) == 0 {
			_, err = c.Revoke(ctx, lease.ID)
		}
	default:
		_, err = c.Put(ctx, key(), value())
	}
	return err
}

// TestFailsClosed: as long as it is not known what an organization holds, nothing of it grows.
func TestFailsClosed(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	a, free := r.tenant(t, "aaaaaaaa-6301", "org-a", 1<<30), r.tenant(t, "aaaaaaaa-6302", "org-b", noQuota)
	// It has no user in the store, and cannot be counted.
	r.letIn(t, keyspace(t, "aaaaaaaa-6303"), "org-a", 1<<30)
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := r.as(t, a).Put(soon, a.Prefix()+"x", "x"); err == nil {
		t.Error("something grew")
	}
	if used, err := env.store.Usage(ctx, a); err != nil || used.Keys > 0 {
		t.Errorf("there are %d keys, %v", used.Keys, err)
	}
	if _, err := r.as(t, free).Put(ctx, free.Prefix()+"x", "x"); err != nil {
		t.Errorf("another organization: %v", err)
	}
	if _, err := r.as(t, a).Get(ctx, a.Prefix(), clientv3.WithPrefix()); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := r.table.Remove("aaaaaaaa-6303"); err != nil {
		t.Fatal(err)
	}
	r.file.Look()
	if _, err := r.as(t, a).Put(ctx, a.Prefix()+"x", "x"); err != nil {
		t.Errorf("once it is known: %v", err)
	}
}

// TestProcess: a gate that ends and begins again is found by its clients, watches go on where they were, and it still knows
// the quota; KQueen, which writes the file, is not asked.
func TestProcess(t *testing.T) {
	const quota = 128 << 10
	r, ctx := newRig(t), deadline(t) // of its gate nothing is used but its tenants
	k := r.tenant(t, "aaaaaaaa-6401", "org-a", quota)
	dir := t.TempDir()
	files := map[string][]byte{"store-ca.crt": env.keys["ca.crt"], "ca.crt": r.keys["ca.crt"], "server.crt": r.keys["server.crt"], "server.key": r.keys["server.key"]}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ports, err := freeport.TakeSeveral(2)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	process := Process{
		Listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])), Health: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[1])),
		Store: []string{env.address}, StoreCA: file("store-ca.crt"), ClientCA: file("ca.crt"), Certificate: file("server.crt"), Key: file("server.key"),
		Tenants: r.table.file, Usage: file("usage.json"), Log: slog.New(slog.DiscardHandler),
	}
	run := func() (stop func()) {
		life, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- process.Run(life) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	stop := run()
	c := dial(t, process.Listen, r.keys, r.keys, k.User())
	put := func(key string, size int) error {
		soon, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := c.Put(soon, k.Prefix()+key, strings.Repeat("x", size))
		return err
	}
	await(t, "the first write", func() bool { return put("first", 100<<10) == nil })
	watching := c.Watch(ctx, k.Prefix(), clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if first := <-watching; !first.Created {
		t.Fatal(first)
	}
	stop()
	if put("while it is away", 1) == nil {
		t.Error("a write was taken by no gate")
	}
	stop = run()
	defer stop()
	await(t, "a write after the restart", func() bool { return put("second", 1) == nil })
	if err := put("third", 64<<10); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("beyond the quota after the restart: %v", err)
	}
	second := func(e *clientv3.Event) bool { return string(e.Kv.Key) == k.Prefix()+"second" }
	for seen := <-watching; !slices.ContainsFunc(seen.Events, second); seen = <-watching {
		if err := seen.Err(); err != nil || ctx.Err() != nil {
			t.Fatalf("the watch ended: %v", err)
		}
	}
	// A tenant that is new is let in without a restart.
	next := r.tenant(t, "aaaaaaaa-6402", "org-b", noQuota)
	fresh := dial(t, process.Listen, r.keys, r.keys, next.User())
	await(t, "a write of a new tenant", func() bool {
		_, err := fresh.Put(ctx, next.Prefix()+"x", "x")
		return err == nil
	})
}
