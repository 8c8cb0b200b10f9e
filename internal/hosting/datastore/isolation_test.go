package datastore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// attack is one thing that tenant A tries on tenant B; key is a key of B that exists.
type attack func(ctx context.Context, a *clientv3.Client, own, key string) error

// attempt makes an attack of one call.
func attempt(ops func(own, key string) clientv3.Op) attack {
	return func(ctx context.Context, a *clientv3.Client, own, key string) error {
		_, err := a.Do(ctx, ops(own, key))
		return err
	}
}

func watching(opts func(own, key string) (string, []clientv3.OpOption)) attack {
	return func(ctx context.Context, a *clientv3.Client, own, key string) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		from, o := opts(own, key)
		r := <-a.Watch(ctx, from, append(o, clientv3.WithCreatedNotify())...)
		if err := r.Err(); err != nil && strings.Contains(err.Error(), rpctypes.ErrPermissionDenied.Error()) {
			return rpctypes.ErrPermissionDenied // a watch is refused with a text, not with a code
		}
		return r.Err()
	}
}

// attacks is every way to B's data, to other tenants' names, and to the whole store that is known; many were holes of etcd once.
var attacks = map[string]attack{
	"get":            attempt(func(_, key string) clientv3.Op { return clientv3.OpGet(key) }),
	"get stale":      attempt(func(_, key string) clientv3.Op { return clientv3.OpGet(key, clientv3.WithSerializable()) }),
	"count":          attempt(func(_, key string) clientv3.Op { return clientv3.OpGet(key, clientv3.WithCountOnly()) }),
	"range of B":     attempt(func(_, key string) clientv3.Op { return clientv3.OpGet(key, clientv3.WithPrefix()) }),
	"range A to B":   attempt(func(own, key string) clientv3.Op { return clientv3.OpGet(own, clientv3.WithRange(key+"\x00")) }),
	"range of all":   attempt(func(_, _ string) clientv3.Op { return clientv3.OpGet("\x00", clientv3.WithFromKey()) }),
	"from own key":   attempt(func(own, _ string) clientv3.Op { return clientv3.OpGet(own, clientv3.WithFromKey()) }),
	"one past end":   attempt(func(own, _ string) clientv3.Op { return clientv3.OpGet(own[:len(own)-1] + "0") }),
	"without slash":  attempt(func(own, _ string) clientv3.Op { return clientv3.OpGet(own[:len(own)-1], clientv3.WithPrefix()) }),
	"put":            attempt(func(_, key string) clientv3.Op { return clientv3.OpPut(key, "stolen") }),
	"put prevKV":     attempt(func(_, key string) clientv3.Op { return clientv3.OpPut(key, "stolen", clientv3.WithPrevKV()) }),
	"put past end":   attempt(func(own, _ string) clientv3.Op { return clientv3.OpPut(own[:len(own)-1]+"0", "x") }),
	"delete":         attempt(func(_, key string) clientv3.Op { return clientv3.OpDelete(key) }),
	"delete prevKV":  attempt(func(_, key string) clientv3.Op { return clientv3.OpDelete(key, clientv3.WithPrevKV()) }),
	"delete fromKey": attempt(func(own, _ string) clientv3.Op { return clientv3.OpDelete(own, clientv3.WithFromKey()) }),
	"delete range":   attempt(func(own, key string) clientv3.Op { return clientv3.OpDelete(own, clientv3.WithRange(key+"\x00")) }),
	"txn compare": attempt(func(own, key string) clientv3.Op {
		return clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", "secret")}, []clientv3.Op{clientv3.OpPut(own+"bit", "1")}, nil)
	}),
	"txn compare range": attempt(func(own, _ string) clientv3.Op {
		return clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Version(own), ">", 0).WithRange("\x00")}, []clientv3.Op{clientv3.OpPut(own+"bit", "1")}, nil)
	}),
	"txn get": attempt(func(_, key string) clientv3.Op { return clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(key)}, nil) }),
	"txn else put": attempt(func(_, key string) clientv3.Op {
		return clientv3.OpTxn(nil, nil, []clientv3.Op{clientv3.OpPut(key, "stolen")})
	}),
	"nested txn get": attempt(func(_, key string) clientv3.Op {
		return clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(key)}, nil)}, nil)
	}),
	"nested txn put": attempt(func(_, key string) clientv3.Op {
		return clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(key, "stolen")}, nil)}, nil)
	}),
	"nested txn delete prevKV": attempt(func(_, key string) clientv3.Op {
		return clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpDelete(key, clientv3.WithPrevKV())}, nil)}, nil)
	}),
	"nested txn compare": attempt(func(own, key string) clientv3.Op {
		inner := clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", "secret")}, []clientv3.Op{clientv3.OpPut(own+"bit", "1")}, nil)
		return clientv3.OpTxn(nil, []clientv3.Op{inner}, nil)
	}),
	"watch": watching(func(_, key string) (string, []clientv3.OpOption) { return key, nil }),
	"watch range": watching(func(_, key string) (string, []clientv3.OpOption) {
		return key, []clientv3.OpOption{clientv3.WithPrefix()}
	}),
	"watch A to B": watching(func(own, key string) (string, []clientv3.OpOption) {
		return own, []clientv3.OpOption{clientv3.WithRange(key)}
	}),
	"watch from own": watching(func(own, _ string) (string, []clientv3.OpOption) {
		return own, []clientv3.OpOption{clientv3.WithFromKey()}
	}),
	"watch history": watching(func(own, _ string) (string, []clientv3.OpOption) {
		return own, []clientv3.OpOption{clientv3.WithFromKey(), clientv3.WithRev(1), clientv3.WithPrevKV()}
	}),
	"watch all": watching(func(_, _ string) (string, []clientv3.OpOption) {
		return "\x00", []clientv3.OpOption{clientv3.WithFromKey()}
	}),

	"lease on B's key": func(ctx context.Context, a *clientv3.Client, _, key string) error {
		l, err := a.Grant(ctx, 600)
		if err != nil {
			return err
		}
		_, err = a.Put(ctx, key, "mortal", clientv3.WithLease(l.ID))
		return err
	},
	"lock in B":     func(ctx context.Context, a *clientv3.Client, _, key string) error { return lock(ctx, a, key) },
	"campaign in B": func(ctx context.Context, a *clientv3.Client, _, key string) error { return campaign(ctx, a, key) },
	"leader of B": func(ctx context.Context, a *clientv3.Client, _, key string) error {
		_, err := v3electionpb.NewElectionClient(a.ActiveConnection()).Leader(ctx, &v3electionpb.LeaderRequest{Name: []byte(key[:len(key)-2])})
		return rpctypes.Error(err)
	},

	"compact": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.Compact(ctx, 1)
		return err
	},
	"list users": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserList(ctx)
		return err
	},
	"list roles": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.RoleList(ctx)
		return err
	},
	"read role B": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.RoleGet(ctx, "kqueen-"+uidB)
		return err
	},
	"read user B": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserGet(ctx, "kqueen-"+uidB)
		return err
	},
	"read root": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserGet(ctx, "root")
		return err
	},
	"become root": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserGrantRole(ctx, "kqueen-"+uidA, "root")
		return err
	},
	"become B": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserGrantRole(ctx, "kqueen-"+uidA, "kqueen-"+uidB)
		return err
	},
	"widen grant": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.RoleGrantPermission(ctx, "kqueen-"+uidA, "/", "0", rw)
		return err
	},
	"set password": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserChangePassword(ctx, "root", "x")
		return err
	},
	"delete B": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.UserDelete(ctx, "kqueen-"+uidB)
		return err
	},
	"turn off auth": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.AuthDisable(ctx)
		return err
	},
	"disarm alarm": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: 1, Alarm: 1})
		return err
	},
	"defragment": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.Defragment(ctx, env.endpoint)
		return err
	},
	"hash": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.HashKV(ctx, env.endpoint, 0)
		return err
	},
	"add member": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.MemberAdd(ctx, []string{"https://127.0.0.1:1"})
		return err
	},
	"move leader": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		_, err := a.MoveLeader(ctx, 1)
		return err
	},
	"snapshot": func(ctx context.Context, a *clientv3.Client, _, _ string) error {
		r, err := a.Snapshot(ctx)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r)
		return errors.Join(rpctypes.Error(err), r.Close())
	},
}

// etcd carries a lock and an election service that act inside the server; they must not be a way around the grants.
func lock(ctx context.Context, c *clientv3.Client, name string) error {
	l, err := c.Grant(ctx, 600)
	if err != nil {
		return err
	}
	_, err = v3lockpb.NewLockClient(c.ActiveConnection()).Lock(ctx, &v3lockpb.LockRequest{Name: []byte(name), Lease: int64(l.ID)})
	return rpctypes.Error(err)
}

func campaign(ctx context.Context, c *clientv3.Client, name string) error {
	l, err := c.Grant(ctx, 600)
	if err != nil {
		return err
	}
	r := &v3electionpb.CampaignRequest{Name: []byte(name), Lease: int64(l.ID), Value: []byte("x")}
	_, err = v3electionpb.NewElectionClient(c.ActiveConnection()).Campaign(ctx, r)
	return rpctypes.Error(err)
}

// B's name begins with A's: without the slash at its end A's grant would open B.
const uidA, uidB = "abcdef00", "abcdef000"

func TestIsolation(t *testing.T) {
	ctx, root := deadline(t), clientFor(t, "root")
	a, b := keyspace(t, uidA), keyspace(t, uidB)
	for _, k := range []datastore.Keyspace{a, b} {
		if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
			t.Fatal(err)
		}
	}
	key := b.Prefix() + "secret/0"
	if _, err := clientFor(t, b.User()).Put(ctx, key, "secret"); err != nil {
		t.Fatal(err)
	}
	victim := func() map[string]string {
		r, err := root.Get(ctx, "/kqueen/"+uidA[:6], clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]string{}
		for _, kv := range r.Kvs {
			if !strings.HasPrefix(string(kv.Key), a.Prefix()) {
				keys[string(kv.Key)] = string(kv.Value)
			}
		}
		return keys
	}
	for name, try := range attacks {
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			// A stranger that etcd's authority has signed for, but who is no user, has fewer rights than A.
			for _, who := range []string{a.User(), "kqueen-00000000"} {
				if err := try(ctx, clientFor(t, who), a.Prefix(), key); !errors.Is(err, rpctypes.ErrPermissionDenied) && !errors.Is(err, rpctypes.ErrUserNotFound) {
					t.Errorf("%s: got %v, want permission denied", who, err)
				}
			}
		})
	}
	if d := cmp.Diff(map[string]string{key: "secret"}, victim()); d != "" {
		t.Errorf("after all attacks: -want +got\n%s", d)
	}
	if d := cmp.Diff(rightWall(a), wallOf(t, root, a)); d != "" {
		t.Errorf("wall of A: -want +got\n%s", d)
	}
	if d := cmp.Diff(rightWall(b), wallOf(t, root, b)); d != "" {
		t.Errorf("wall of B: -want +got\n%s", d)
	}
}

// The same calls in the own keyspace: what an API server needs is allowed, so that the refusals above are not due to something else.
func TestOwnKeyspaceIsOpen(t *testing.T) {
	ctx, k := deadline(t), keyspace(t, "abcdef11")
	if err := env.store.Ensure(ctx, k, datastore.ReadWrite); err != nil {
		t.Fatal(err)
	}
	c, own := clientFor(t, k.User()), k.Prefix()
	lease, err := c.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	nested := clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(own+"c", "3", clientv3.WithPrevKV())}, nil)
	for name, op := range map[string]clientv3.Op{
		"put with lease": clientv3.OpPut(own+"a", "1", clientv3.WithLease(lease.ID), clientv3.WithPrevKV()),
		"get":            clientv3.OpGet(own + "a"),
		"range":          clientv3.OpGet(own, clientv3.WithPrefix()),
		"count":          clientv3.OpGet(own, clientv3.WithPrefix(), clientv3.WithCountOnly()),
		"txn":            clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(own+"b"), "=", 0)}, []clientv3.Op{clientv3.OpPut(own+"b", "2")}, []clientv3.Op{clientv3.OpGet(own + "b")}),
		"nested txn":     clientv3.OpTxn(nil, []clientv3.Op{nested}, nil),
		"delete":         clientv3.OpDelete(own+"c", clientv3.WithPrevKV()),
		"delete all":     clientv3.OpDelete(own, clientv3.WithPrefix()),
	} {
		if _, err := c.Do(ctx, op); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	watched := c.Watch(ctx, own, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	if r := <-watched; !r.Created || r.Err() != nil {
		t.Fatalf("watch: %+v", r)
	}
	if _, err := c.Put(ctx, own+"seen", "1"); err != nil {
		t.Fatal(err)
	}
	if r := <-watched; r.Err() != nil || len(r.Events) != 1 || string(r.Events[0].Kv.Key) != own+"seen" {
		t.Errorf("watch saw %+v, want the put of %sseen", r, own)
	}
	if err := lock(ctx, c, own+"lock"); err != nil {
		t.Errorf("lock: %v", err)
	}
	if err := campaign(ctx, c, own+"election"); err != nil {
		t.Errorf("campaign: %v", err)
	}
}

func TestStrangersDoNotGetPastTLS(t *testing.T) {
	stranger, err := newAuthority("clients") // the same name, another key
	if err != nil {
		t.Fatal(err)
	}
	forged, err := stranger.client("root")
	if err != nil {
		t.Fatal(err)
	}
	anonymous := forged.Clone()
	anonymous.Certificates = nil
	for name, c := range map[string]*tls.Config{"no certificate": anonymous, "foreign authority": forged} {
		t.Run(name, func(t *testing.T) {
			dialer := tls.Dialer{Config: c}
			conn, err := dialer.DialContext(deadline(t), "tcp", strings.TrimPrefix(env.endpoint, "https://"))
			if err == nil {
				defer func() { _ = conn.Close() }()
				_, err = conn.Read(make([]byte, 1)) // with TLS 1.3 the server's verdict comes after the client's handshake
			}
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != "remote error" {
				t.Errorf("got %v, want an alert of the server", err)
			}
		})
	}
	// A certificate without a name is no user.
	if _, err := clientFor(t, "").Get(deadline(t), "/kqueen/"); err == nil {
		t.Error("a certificate without a common name may read")
	}
}
