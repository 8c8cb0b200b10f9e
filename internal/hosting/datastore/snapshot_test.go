package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/freeport"
)

// saved is a snapshot of the tests' etcd in a file. during is called when it was begun.
func saved(t *testing.T, during func()) string {
	t.Helper()
	from, err := datastore.SnapshotsOf(env.store).Snapshot(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	during()
	file, err := os.Create(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, from)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// TestSnapshotAndRestore: what was acknowledged before a snapshot was taken is in the etcd that is restored from it, what came later is
// not; tenants have their walls again; and a client that watches from a revision that it has seen is told that it has to list again,
// although the restored etcd never had that revision.
func TestSnapshotAndRestore(t *testing.T) {
	ctx := deadline(t)
	tenant := keyspace(t, "5aa5c0de-0000-4000-8000-000000000001")
	if err := env.store.Ensure(ctx, tenant, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	root := clientFor(t, "root")
	put := func(c *clientv3.Client, key, value string) int64 {
		t.Helper()
		answer, err := c.Put(ctx, key, value)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Header.Revision
	}
	put(root, tenant.Prefix()+"before", "1")
	var seen int64
	file := saved(t, func() { seen = put(root, tenant.Prefix()+"later", "1") })

	c := env.files
	c.DataDir = filepath.Join(t.TempDir(), "data")
	ports, err := freeport.TakeSeveral(3)
	if err != nil {
		t.Fatal(err)
	}
	c.ClientPort, c.PeerPort, c.HTTPPort = ports[0], ports[1], ports[2]
	if err := datastore.Restore(c.Name, file, c.DataDir); err != nil {
		t.Fatal(err)
	}
	stop, err := launch(c, filepath.Join(t.TempDir(), "etcd.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	as := func(cn string) *clientv3.Client { return clientAt(t, cn, c.ClientPort) }

	got, err := as("root").Get(ctx, tenant.Prefix(), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Key) != tenant.Prefix()+"before" {
		t.Errorf("the restored etcd has %v; want what was there before", got.Kvs)
	}
	if got.Header.Revision <= seen {
		t.Errorf("its revision is %d; want one after %d, which a client has seen", got.Header.Revision, seen)
	}
	event := <-as("root").Watch(ctx, tenant.Prefix(), clientv3.WithPrefix(), clientv3.WithRev(seen+1))
	if !errors.Is(event.Err(), rpctypes.ErrCompacted) {
		t.Errorf("who watches from before is told %v, want that it has to list again", event.Err())
	}
	if _, err := as(tenant.User()).Put(ctx, tenant.Prefix()+"own", "1"); err != nil {
		t.Errorf("the tenant cannot write: %v", err)
	}
	if _, err := as(tenant.User()).Get(ctx, "/kqueen/other/key"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("the tenant reads another's: %v", err)
	}
}

// clientAt is clientFor another etcd, which may still be starting.
func clientAt(t *testing.T, cn string, port int) *clientv3.Client {
	t.Helper()
	tlsConfig, err := env.ca.client(cn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{fmt.Sprintf("https://127.0.0.1:%d", port)}, TLS: tlsConfig, Logger: zap.NewNop(), Context: t.Context(), DialTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRestoreRefuses(t *testing.T) {
	file := saved(t, func() {})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{
		"cut off": whole[:len(whole)-1000], "without its checksum": whole[:len(whole)-32], "changed": flipped, "empty": nil, "foreign": []byte(strings.Repeat("x", 4096)),
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if err := datastore.Restore("m0", bad, dir); err == nil || !strings.Contains(err.Error(), "no whole snapshot") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a data directory was made", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := datastore.Restore("m0", file, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a directory that is not empty: %v", err)
	}
	if err := datastore.Restore("m0", filepath.Join(dir, "missing"), filepath.Join(dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

// TestSnapshotEnds: a snapshot whose caller goes away ends, and so does one of an etcd that does not answer.
func TestSnapshotEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if from, err := datastore.SnapshotsOf(env.store).Snapshot(ctx); err == nil {
		if _, err := io.ReadAll(from); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		_ = from.Close()
	}
}
