package storegate

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// works says whether a look at the gate comes to an end in time.
func works(t *testing.T, g *gate, address string, within time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	done := make(chan struct{})
	go func() {
		g.alive(ctx, address)
		close(done)
	}()
	select {
	case <-done:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

const (
	soon = 200 * time.Millisecond
	late = time.Minute
)

// TestAlive: whatever keeps tenants from being answered keeps the gate from saying that it works, and nothing else does.
func TestAlive(t *testing.T) {
	r := newRig(t)
	k := r.tenant(t, "aaaaaaaa-9001", "org-a", 1<<20)
	if !works(t, r.gate, r.address, late) {
		t.Fatal("a gate that works is said to hang")
	}
	tenant := r.gate.tenants[k.User()]
	for name, lock := range map[string]sync.Locker{
		"the gate's lock":         &r.gate.mu,
		"that of an organization": &tenant.group.mu,
		"that of a count":         &tenant.count.mu,
	} {
		lock.Lock()
		if works(t, r.gate, r.address, soon) {
			t.Errorf("%s is held, and the gate is said to work", name)
		}
		lock.Unlock()
		if !works(t, r.gate, r.address, late) {
			t.Errorf("%s is free again, and the gate is said to hang", name)
		}
	}
}

// TestAliveAsksItsPort: a gate that takes no connections any more hangs, although no lock is held.
func TestAliveAsksItsPort(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections, and no gate accepts them
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if works(t, r.gate, l.Addr().String(), soon) {
		t.Error("a port at which no answer comes is taken for a gate that works")
	}
}

// TestAliveWithoutStore: a store that does not answer is not the gate's fault: restarting it would help no tenant.
func TestAliveWithoutStore(t *testing.T) {
	shared := env
	t.Cleanup(func() { env = shared })
	env.address = "127.0.0.1:1"
	if r := newRig(t); !works(t, r.gate, r.address, late) {
		t.Error("the gate is said to hang")
	}
}

// TestSelf: by what the gate calls itself nothing is had of any tenant.
func TestSelf(t *testing.T) {
	r, ctx := newRig(t), deadline(t)
	conn, err := grpc.NewClient("passthrough:///"+r.address, grpc.WithTransportCredentials(credentials.NewTLS(r.gate.calls)), grpc.WithNoProxy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte("/kqueen/")})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "is no control plane") {
		t.Errorf("got %v, want that it is no control plane", err)
	}
}
