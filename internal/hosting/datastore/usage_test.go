package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

func TestUsage(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "aaaa0000")
	if u, err := env.store.Usage(ctx, k); err != nil || u != (datastore.Usage{}) {
		t.Errorf("got %+v, %v; want nothing of a keyspace that is not there", u, err)
	}
	if err := putKeys(7)(ctx, root, k); err != nil {
		t.Fatal(err)
	}
	// Old revisions and other keyspaces do not count, however like they are called.
	for _, key := range []string{k.Prefix() + "00000", k.Prefix() + "00000", "/kqueen/aaaa00000/x", "/kqueen/aaaa/x"} {
		if _, err := root.Put(ctx, key, "xyz"); err != nil {
			t.Fatal(err)
		}
	}
	want := datastore.Usage{Keys: 7, Bytes: int64(7*len(k.Prefix()+"00000") + 6*len("x") + len("xyz"))}
	if u, err := env.store.Usage(ctx, k); err != nil || u != want {
		t.Errorf("got %+v, %v; want %+v", u, err, want)
	}
}

// TestUsageOfMany counts as many keys as a busy cluster has, some of them large, while a neighbour writes. How long it
// takes, and how long the neighbour waits, stands in the log.
func TestUsageOfMany(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "ab0c0de0")
	const keys, size = 10_000, 2_000
	value := strings.Repeat("v", size)
	for i := 0; i < keys; i += 100 {
		var puts []clientv3.Op
		for j := range 100 {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("%s%05d", k.Prefix(), i+j), value))
		}
		if _, err := root.Txn(ctx).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("L", 1<<20)
	for i := range 3 {
		if _, err := root.Put(ctx, fmt.Sprintf("%slarge%d", k.Prefix(), i), large); err != nil {
			t.Fatal(err)
		}
	}
	alone := slowestWrite(ctx, t, root, func() {})
	began := time.Now()
	var took time.Duration
	beside := slowestWrite(ctx, t, root, func() {
		u, err := env.store.Usage(ctx, k)
		took = time.Since(began)
		want := datastore.Usage{
			Keys:  keys + 3,
			Bytes: int64(keys*(len(k.Prefix()+"00000")+size) + 3*(len(k.Prefix()+"large0")+len(large))),
		}
		if err != nil || u != want {
			t.Errorf("got %+v, %v; want %+v", u, err, want)
		}
	})
	t.Logf("%d keys, %d MB: %s; a neighbour's slowest write meanwhile %s, alone %s", keys+3, (keys*size+3<<20)/1_000_000, took, beside, alone)
	if err := env.store.Remove(ctx, k); err != nil {
		t.Fatal(err)
	}
}

// slowestWrite writes again and again until what is done meanwhile has ended, twenty times at least.
func slowestWrite(ctx context.Context, t *testing.T, c *clientv3.Client, meanwhile func()) time.Duration {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		meanwhile()
	}()
	var slowest time.Duration
	for i := 0; ; i++ {
		began := time.Now()
		if _, err := c.Put(ctx, "/kqueen/beef0000/x", "x"); err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(began))
		select {
		case <-over:
			if i >= 20 {
				return slowest
			}
		default:
		}
	}
}

// TestUsageEnds: who no longer waits gets an error and no part of a sum.
func TestUsageEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(deadline(t))
	cancel()
	if u, err := env.store.Usage(ctx, keyspace(t, "aaaa0000")); !errors.Is(err, context.Canceled) || u != (datastore.Usage{}) {
		t.Errorf("got %+v, %v", u, err)
	}
}
