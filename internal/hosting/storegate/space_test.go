package storegate

import (
	"context"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

func TestLevelOf(t *testing.T) {
	const quota = 1000
	for name, tc := range map[string]struct {
		used, file, quota int64
		want              Level
	}{
		"nothing":          {0, 0, quota, Enough},
		"just enough":      {899, 949, quota, Enough},
		"little is left":   {900, 900, quota, Scarce},
		"just that":        {949, 999, quota, Scarce},
		"the last of it":   {950, 950, quota, Last},
		"the file is full": {800, 950, quota, Scarce},
		"more than all":    {2000, 2000, quota, Last},
		"it is not known":  {2000, 2000, 0, Enough},
	} {
		if got := levelOf(tc.used, tc.file, tc.quota); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestSpaceAdmits(t *testing.T) {
	for name, tc := range map[string]struct {
		left Level
		by   growth
		want codes.Code
	}{
		"enough":                      {Enough, growth{bytes: 1 << 20}, codes.OK},
		"scarce, it grows":            {Scarce, growth{bytes: 1}, codes.ResourceExhausted},
		"scarce, an object is marked": {Scarce, growth{bytes: 100, tidy: true}, codes.OK},
		"scarce, it does not grow":    {Scarce, growth{}, codes.OK},
		"last, an object is marked":   {Last, growth{bytes: 100, tidy: true}, codes.ResourceExhausted},
		"last, it does not grow":      {Last, growth{bytes: -1}, codes.OK},
	} {
		s := newSpace()
		s.left.Store(int32(tc.left))
		if err := s.admit(t.Context(), 1, func(context.Context) (growth, error) { return tc.by, nil }); status.Code(err) != tc.want {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// TestHeadroom: tenants without a quota fill the store together, but not to the end: it goes on taking what does not grow, deletions,
// and what KQueen writes.
func TestHeadroom(t *testing.T) {
	// So large that what etcd's file has grown by beyond its content, a few MiB, is not the last twentieth.
	const quota, size = 64 << 20, 256 << 10
	shared := env
	ctx := deadline(t)
	stop, err := env.start(ctx, t.TempDir(), quota)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		env = shared
	})
	r := newRig(t)
	one, two := r.tenant(t, "aaaaaaaa-7001", "org-a", noQuota), r.tenant(t, "aaaaaaaa-7002", "org-b", noQuota)
	a, b, value := r.as(t, one), r.as(t, two), strings.Repeat("x", size)
	taken := 0
	for ; taken < quota/size; taken++ {
		if _, err = a.Put(ctx, one.Prefix()+strconv.Itoa(taken), value); err != nil {
			break
		}
		// More often towards the end: the file grows by more than what is written, and what is left at the last look has to be enough for that.
		if taken%8 > 0 && (taken < quota/size*5/8 || taken%2 > 0) {
			continue
		}
		// etcd says how large its file is as of its last commit, ten times a second.
		await(t, "a commit", func() bool {
			answer, err := r.gate.anyTenant().askStore()
			return err == nil && answer.DbSizeInUse > int64(taken*len(value))
		})
		r.gate.lookAtSpace()
	}
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "nearly full") || taken < quota/size/2 {
		t.Fatalf("after %d objects: %v, want that the store is nearly full", taken, err)
	}
	if _, err := b.Put(ctx, two.Prefix()+"x", value); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := a.Put(ctx, one.Prefix()+"0", value); err != nil {
		t.Errorf("an update of the same size: %v", err)
	}
	if err := env.store.Ensure(ctx, keyspace(t, "aaaaaaaa-7003"), datastore.ReadWrite); err != nil {
		t.Errorf("what KQueen writes: %v", err)
	}
	if health, err := env.store.Health(ctx); err != nil || len(health.Alarms) > 0 {
		t.Errorf("the store is full: %v, %v", health, err)
	}
	if _, err := a.Delete(ctx, one.Prefix(), clientv3.WithPrefix()); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}
