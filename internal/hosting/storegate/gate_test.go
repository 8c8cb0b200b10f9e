package storegate

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// TestOwn: what API servers ask for is answered as etcd answers it.
func TestOwn(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	k := r.tenant(t, "aaaaaaaa-1001", "org-a", 1<<30)
	c := r.as(t, k)
	p := k.Prefix()
	watching := c.Watch(clientv3.WithRequireLeader(ctx), p, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify(), clientv3.WithProgressNotify())
	if first := <-watching; first.Err() != nil || !first.Created {
		t.Fatalf("watch: %v", first.Err())
	}
	put, err := c.Put(ctx, p+"a", "one")
	if err != nil || put.PrevKv != nil {
		t.Fatalf("put: %v, %v", put, err)
	}
	if put, err = c.Put(ctx, p+"a", "two", clientv3.WithPrevKV()); err != nil || string(put.PrevKv.Value) != "one" {
		t.Fatalf("put with the value before: %v, %v", put, err)
	}
	txn, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(p+"a"), "=", put.Header.Revision)).
		Then(clientv3.OpPut(p+"a", "three"), clientv3.OpGet(p+"a"), clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(p+"b", "four", clientv3.WithPrevKV())}, nil)).
		Else(clientv3.OpGet(p + "a")).Commit()
	if err != nil || !txn.Succeeded || string(txn.Responses[1].GetResponseRange().Kvs[0].Value) != "three" || txn.Responses[0].GetResponsePut().PrevKv != nil {
		t.Fatalf("transaction: %v, %v", txn, err)
	}
	txn, err = c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(p+"a"), "=", put.Header.Revision)).Then(clientv3.OpDelete(p + "a")).Else(clientv3.OpGet(p + "a")).Commit()
	if err != nil || txn.Succeeded || len(txn.Responses[0].GetResponseRange().Kvs) != 1 {
		t.Fatalf("transaction that fails: %v, %v", txn, err)
	}
	got, err := c.Get(ctx, p, clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 2 {
		t.Fatalf("list: %v, %v", got, err)
	}
	pieces, err := c.GetStream(ctx, p, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := clientv3.GetStreamToGetResponse(pieces); err != nil || len(all.Kvs) != 2 {
		t.Fatalf("list in pieces: %v, %v", all, err)
	}
	if gone, err := c.Delete(ctx, p+"b", clientv3.WithPrevKV()); err != nil || gone.Deleted != 1 || string(gone.PrevKvs[0].Value) != "four" {
		t.Fatalf("delete: %v, %v", gone, err)
	}
	var seen []string
	for len(seen) < 5 {
		for _, e := range (<-watching).Events {
			seen = append(seen, e.Type.String()+" "+strings.TrimPrefix(string(e.Kv.Key), p)+" "+string(e.Kv.Value))
		}
	}
	if d := cmp.Diff([]string{"PUT a one", "PUT a two", "PUT a three", "PUT b four", "DELETE b "}, seen); d != "" {
		t.Errorf("watched: -want +got\n%s", d)
	}
	if err := c.RequestProgress(clientv3.WithRequireLeader(ctx)); err != nil {
		t.Error(err)
	}
	if progress := <-watching; !progress.IsProgressNotify() {
		t.Errorf("progress is not told: %v", progress)
	}
	said, err := c.Status(ctx, "https://"+r.address)
	if err != nil || said.Version == "" || said.DbSizeQuota != 0 || said.RaftIndex != 0 {
		t.Errorf("status: %v, %v", said, err)
	}
}

// TestForeign: nothing of another tenant, of the admin plane or of the store itself can be had.
func TestForeign(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	a, b := r.tenant(t, "aaaaaaaa-2001", "org-a", noQuota), r.tenant(t, "aaaaaaaa-2002", "org-b", noQuota)
	c := r.as(t, a)
	key, mine := b.Prefix()+"secret", a.Prefix()
	if _, err := r.as(t, b).Put(ctx, key, "secret"); err != nil {
		t.Fatal(err)
	}
	do := func(op clientv3.Op) error { _, err := c.Do(ctx, op); return err }
	txn := func(ops ...clientv3.Op) clientv3.Op { return clientv3.OpTxn(nil, ops, nil) }
	for name, try := range map[string]func() error{
		"get":          func() error { return do(clientv3.OpGet(key)) },
		"list":         func() error { return do(clientv3.OpGet(mine, clientv3.WithRange(key+"\x00"))) },
		"list all":     func() error { return do(clientv3.OpGet("\x00", clientv3.WithFromKey())) },
		"from its own": func() error { return do(clientv3.OpGet(mine, clientv3.WithFromKey())) },
		"count":        func() error { return do(clientv3.OpGet(key, clientv3.WithCountOnly())) },
		"admin":        func() error { return do(clientv3.OpGet(datastore.AdminKeyspace().Prefix(), clientv3.WithPrefix())) },
		"put":          func() error { return do(clientv3.OpPut(key, "x")) },
		"delete":       func() error { return do(clientv3.OpDelete(key)) },
		"delete range": func() error { return do(clientv3.OpDelete(mine, clientv3.WithFromKey())) },
		"txn get":      func() error { return do(txn(clientv3.OpGet(key))) },
		"txn put":      func() error { return do(txn(clientv3.OpPut(mine+"x", ""), clientv3.OpPut(key, "x"))) },
		"txn else":     func() error { return do(clientv3.OpTxn(nil, nil, []clientv3.Op{clientv3.OpDelete(key)})) },
		"nested put":   func() error { return do(txn(txn(clientv3.OpPut(key, "x")))) },
		"nested get":   func() error { return do(txn(txn(clientv3.OpGet(key, clientv3.WithPrefix())))) },
		"compare": func() error {
			return do(clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", "s")}, nil, nil))
		},
		"compare range": func() error {
			return do(clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Version(mine), ">", 0).WithRange("\x00")}, nil, nil))
		},
		"stream": func() error {
			pieces, err := c.GetStream(ctx, key, clientv3.WithPrefix())
			if err == nil {
				_, err = clientv3.GetStreamToGetResponse(pieces)
			}
			return err
		},
		"watch":      func() error { r := <-c.Watch(ctx, key); return r.Err() },
		"watch on":   func() error { r := <-c.Watch(ctx, mine, clientv3.WithFromKey(), clientv3.WithRev(1)); return r.Err() },
		"compact":    func() error { _, err := c.Compact(ctx, 1); return err },
		"members":    func() error { _, err := c.MemberList(ctx); return err },
		"alarms":     func() error { _, err := c.AlarmList(ctx); return err },
		"users":      func() error { _, err := c.UserList(ctx); return err },
		"leases":     func() error { _, err := c.Leases(ctx); return err },
		"defragment": func() error { _, err := c.Defragment(ctx, "https://"+r.address); return err },
		"hash":       func() error { _, err := c.HashKV(ctx, "https://"+r.address, 0); return err },
		"snapshot": func() error {
			s, err := c.Snapshot(ctx)
			if err == nil {
				_, err = s.Read(make([]byte, 1))
			}
			return err
		},
	} {
		if err := try(); !denied(err, rpctypes.ErrGRPCPermissionDenied) {
			t.Errorf("%s: %v, want that permission is denied", name, err)
		}
	}
	if got, err := direct(t, b).Get(ctx, key); err != nil || len(got.Kvs) != 1 || got.Kvs[0].Version != 1 {
		t.Errorf("the other tenant's key is %v, %v", got, err)
	}
}

// TestForeignLease: a lease belongs to the tenant that was granted it, before and after a key hangs on it.
func TestForeignLease(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	a, b := r.tenant(t, "aaaaaaaa-3001", "org-a", noQuota), r.tenant(t, "aaaaaaaa-3002", "org-b", noQuota)
	owner, thief := r.as(t, a), r.as(t, b)
	lease, err := owner.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"revoke":  func() error { _, err := thief.Revoke(ctx, lease.ID); return err },
		"look at": func() error { _, err := thief.TimeToLive(ctx, lease.ID, clientv3.WithAttachedKeys()); return err },
		"renew":   func() error { _, err := thief.KeepAliveOnce(ctx, lease.ID); return err },
		"hang on": func() error { _, err := thief.Put(ctx, b.Prefix()+"x", "", clientv3.WithLease(lease.ID)); return err },
		"hang on in a transaction": func() error {
			_, err := thief.Txn(ctx).Then(clientv3.OpPut(b.Prefix()+"x", "", clientv3.WithLease(lease.ID))).Commit()
			return err
		},
	} {
		if err := try(); !denied(err, rpctypes.ErrGRPCLeaseNotFound) {
			t.Errorf("%s: %v, want that the lease is not found", name, err)
		}
	}
	if _, err := owner.Put(ctx, a.Prefix()+"x", "", clientv3.WithLease(lease.ID)); err != nil {
		t.Error(err)
	}
	if left, err := owner.TimeToLive(ctx, lease.ID, clientv3.WithAttachedKeys()); err != nil || len(left.Keys) != 1 {
		t.Errorf("its own lease: %v, %v", left, err)
	}
	if _, err := owner.KeepAliveOnce(ctx, lease.ID); err != nil {
		t.Error(err)
	}
	if _, err := owner.Revoke(ctx, lease.ID); err != nil {
		t.Error(err)
	}
	grants := pb.NewLeaseClient(owner.ActiveConnection())
	for _, r := range []*pb.LeaseGrantRequest{{TTL: 60, ID: int64(lease.ID)}, {TTL: 60, ID: 7}, {TTL: longestLease + 1}} {
		if _, err := grants.LeaseGrant(ctx, r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("grant of %v: %v, want that it is refused", r, err)
		}
	}
}

// TestStrangers: what lets a tenant in at the gate means nothing to etcd, its metrics included, and the other way round.
func TestStrangers(t *testing.T) {
	r := newRig(t)
	k := r.tenant(t, "aaaaaaaa-4001", "org-a", noQuota)
	for name, c := range map[string]*clientv3.Client{
		"the gate's client at etcd":    dial(t, env.address, env.keys, r.keys, k.User()),
		"etcd's client at the gate":    dial(t, r.address, r.keys, env.keys, k.User()),
		"etcd's root at the gate":      dial(t, r.address, r.keys, env.keys, "etcd-server"),
		"root of the gate's authority": dial(t, env.address, env.keys, r.keys, "root"),
		"a tenant that there is not":   dial(t, r.address, r.keys, r.keys, "kqueen-aaaaaaaa-4002"),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if got, err := c.Get(ctx, k.Prefix(), clientv3.WithPrefix()); err == nil {
			t.Errorf("%s reads %v", name, got)
		}
		cancel()
	}
	for name, tc := range map[string]struct {
		authority pki.Bundle
		want      bool
	}{"the gate's": {r.keys, false}, "etcd's own": {env.keys, true}} {
		pair, err := tls.X509KeyPair(issued(t, tc.authority, k.User()))
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: pool(env.keys["ca.crt"]), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
		}}}
		resp, err := c.Get(env.metrics)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err == nil) != tc.want {
			t.Errorf("etcd's metrics are answered to a tenant with a certificate of %s authority: %t (%v), want %t", name, err == nil, err, tc.want)
		}
	}
}

// TestReadOnly: a tenant whose right to write was taken is told so for each way to write, and reads and watches on.
func TestReadOnly(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	k := r.tenant(t, "aaaaaaaa-5003", "org-a", noQuota)
	c, key := r.as(t, k), k.Prefix()+"x"
	if _, err := c.Put(ctx, key, "before"); err != nil {
		t.Fatal(err)
	}
	watching := c.Watch(ctx, key, clientv3.WithCreatedNotify())
	<-watching
	if err := env.store.Ensure(ctx, k, datastore.ReadOnly); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"put":         func() error { _, err := c.Put(ctx, key, "now"); return err },
		"delete":      func() error { _, err := c.Delete(ctx, key); return err },
		"transaction": func() error { _, err := c.Txn(ctx).Then(clientv3.OpPut(key, "now")).Commit(); return err },
		"transaction that deletes": func() error {
			_, err := c.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "=", 1)).Then(clientv3.OpDelete(key)).Else(clientv3.OpGet(key)).Commit()
			return err
		},
	} {
		if err := write(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "can only be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := c.Get(ctx, key); err != nil || string(found.Kvs[0].Value) != "before" {
		t.Errorf("it reads %v: %v", found, err)
	}
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(ctx, key, "after"); err != nil {
		t.Error(err)
	}
	if seen := <-watching; len(seen.Events) != 1 || string(seen.Events[0].Kv.Value) != "after" {
		t.Errorf("the watch says %v", seen)
	}
}

// TestRemoved: a tenant that is not in the table any more is cut off at once, watches included, and another one is not.
func TestRemoved(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	gone, stays := r.tenant(t, "aaaaaaaa-5001", "org-a", noQuota), r.tenant(t, "aaaaaaaa-5002", "org-a", noQuota)
	c, other := r.as(t, gone), r.as(t, stays)
	watching, going := c.Watch(ctx, gone.Prefix(), clientv3.WithPrefix(), clientv3.WithCreatedNotify()), other.Watch(ctx, stays.Prefix(), clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-watching
	<-going
	if err := r.table.Remove(gone.UID()); err != nil {
		t.Fatal(err)
	}
	r.file.Look()
	for range watching {
		continue // it ends when the watch does
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := c.Put(soon, gone.Prefix()+"x", ""); err == nil {
		t.Error("a tenant that is gone writes")
	}
	if _, err := other.Put(ctx, stays.Prefix()+"x", "seen"); err != nil {
		t.Error(err)
	}
	if seen := <-going; len(seen.Events) != 1 {
		t.Errorf("the other tenant's watch says %v", seen)
	}
}
