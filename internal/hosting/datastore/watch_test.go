package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// TestWatch: each write to a keyspace is told, in order, with those of one transaction at one revision, and no other tenant's.
func TestWatch(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000021")
	put := func(key, value string, options ...clientv3.OpOption) int64 {
		t.Helper()
		r, err := root.Put(ctx, key, value, options...)
		if err != nil {
			t.Fatal(err)
		}
		return r.Header.Revision
	}
	put(k.Prefix()+"before", "1")
	state := env.store.State(k)
	after, err := state.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	told := state.Watch(watched, after)
	first := put(k.Prefix()+"a", "1")
	put("/kqueen/b00000211/a", "theirs")
	lease, err := root.Grant(ctx, 100)
	if err != nil {
		t.Fatal(err)
	}
	put(k.Prefix()+"event", "1", clientv3.WithLease(lease.ID))
	txn, err := root.Txn(ctx).Then(clientv3.OpPut(k.Prefix()+"b", "2"), clientv3.OpDelete(k.Prefix()+"a")).Commit()
	if err != nil {
		t.Fatal(err)
	}
	second := txn.Header.Revision
	last := put("/kqueen/b00000211/a", "theirs again")
	var got []string
	for until := int64(0); until < last; {
		if until >= second { // what is written elsewhere is told when it is asked for
			if err := state.AskProgress(ctx); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case w := <-told:
			if w.Err != nil || w.Until < until {
				t.Fatalf("after %d: %+v", until, w)
			}
			until = w.Until
			for _, x := range w.All {
				got = append(got, fmt.Sprint(x.Revision, " ", x.Key, "=", string(x.Value), " ", x.Removed))
			}
		case <-ctx.Done():
			t.Fatal("it does not tell")
		case <-time.After(100 * time.Millisecond): // is asked again: a watch that is not up to date yet does not answer
		}
	}
	want := []string{fmt.Sprint(first, " a=1 false"), fmt.Sprint(second, " b=2 false"), fmt.Sprint(second, " a= true")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stop()
	for range told { // it ends
	}
}

// TestHad: a write is known again by its key, its value and its revision.
func TestHad(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000023")
	state := env.store.State(k)
	put, err := root.Put(ctx, k.Prefix()+"a", "1")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := root.Delete(ctx, k.Prefix()+"a")
	if err != nil {
		t.Fatal(err)
	}
	a, written, removed := "a", put.Header.Revision, gone.Header.Revision
	write := func(key, value string, revision int64, removed bool) datastore.Write {
		return datastore.Write{Entry: datastore.Entry{Key: key, Value: []byte(value)}, Revision: revision, Removed: removed}
	}
	for _, test := range []struct {
		of   datastore.Write
		want bool
	}{
		{write(a, "1", written, false), true},
		{write(a, "2", written, false), false},
		{write(a, "1", written-1, false), false},
		{write("b", "1", written, false), false},
		{write(a, "", written, true), false},
		{write(a, "", removed, true), true},
		{write(a, "1", removed, false), false},
		{write(a, "1", removed+1000, false), false},
	} {
		if got, err := state.Had(ctx, test.of); got != test.want || err != nil {
			t.Errorf("%+v: %t %v", test.of, got, err)
		}
	}
	if _, err := root.Compact(ctx, removed); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Had(ctx, write(a, "1", written, false)); !errors.Is(err, datastore.ErrCompacted) {
		t.Errorf("got %v", err)
	}
}

// TestWatchCompacted: what is not known any more is an error, not left out.
func TestWatchCompacted(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000022")
	state := env.store.State(k)
	after, err := state.Revision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for range 3 {
		r, err := root.Put(ctx, k.Prefix()+"a", "1")
		if err != nil {
			t.Fatal(err)
		}
		last = r.Header.Revision
	}
	if _, err := root.Compact(ctx, last); err != nil {
		t.Fatal(err)
	}
	w := <-state.Watch(ctx, after)
	if !errors.Is(w.Err, datastore.ErrCompacted) || !strings.Contains(w.Err.Error(), k.Prefix()) {
		t.Errorf("got %+v", w)
	}
	if w := <-env.store.State(datastore.Keyspace{}).Watch(ctx, 0); w.Err == nil {
		t.Error("no keyspace was watched")
	}
}
