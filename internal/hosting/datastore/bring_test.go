package datastore_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kqueen.io/kqueen/internal/hosting/datastore"
)

// entriesOf are those of a map, in order.
func entriesOf(m map[string]string) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(datastore.Entry{Key: key, Value: []byte(m[key])}, nil) {
				return
			}
		}
	}
}

func readAll(t *testing.T, k datastore.Keyspace) (map[string]string, int64) {
	t.Helper()
	got, revision := map[string]string{}, int64(0)
	for e, err := range env.store.State(k).Entries(deadline(t), &revision) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Key] = string(e.Value)
	}
	return got, revision
}

func nothing(datastore.Entry) bool { return false }

// TestBring brings a keyspace from one random state to another, some hundred keys each, some of them large.
func TestBring(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000001")
	neighbour := "/kqueen/b00000011/x" // its name begins as ours does
	if _, err := root.Put(ctx, neighbour, "theirs"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	state := func() map[string]string {
		m := map[string]string{}
		for range 300 {
			m[fmt.Sprintf("configmaps/%03d", random.IntN(400))] = fmt.Sprint(random.IntN(3))
		}
		for i := range 3 {
			m[fmt.Sprintf("large/%d", random.IntN(5))] = strings.Repeat(fmt.Sprint(i), 600<<10)
		}
		return m
	}
	for range 4 {
		want := state()
		var compared, told []datastore.Change
		if err := env.store.State(k).Compare(ctx, entriesOf(want), nothing, func(c datastore.Change) { compared = append(compared, c) }); err != nil {
			t.Fatal(err)
		}
		before, begun := readAll(t, k)
		if err := env.store.State(k).Bring(ctx, datastore.LeftByRestores, entriesOf(want), nothing, func(c datastore.Change) { told = append(told, c) }); err != nil {
			t.Fatal(err)
		}
		got, revision := readAll(t, k)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(compared, told); diff != "" {
			t.Errorf("what Compare told is not what Bring wrote:\n%s", diff)
		}
		if len(told) == 0 || revision <= begun {
			t.Errorf("%d changes, from revision %d to %d", len(told), begun, revision)
		}
		for _, c := range told {
			_, had := before[c.Key]
			if _, has := want[c.Key]; had != (c.Verb != datastore.Added) || has != (c.Verb != datastore.Removed) {
				t.Errorf("%v: had=%v has=%v", c, had, has)
			}
		}
		if err := env.store.State(k).Bring(ctx, datastore.LeftByRestores, entriesOf(want), nothing, func(c datastore.Change) { t.Errorf("again: %v", c) }); err != nil {
			t.Fatal(err)
		}
	}
	r, err := root.Get(ctx, neighbour)
	if err != nil || len(r.Kvs) != 1 || string(r.Kvs[0].Value) != "theirs" || r.Kvs[0].Version != 1 {
		t.Errorf("the neighbour's key is %v, %v", r, err)
	}
}

// TestBringKeeps: keys that expire, and those that the caller keeps, are left as they are.
func TestBringKeeps(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000002")
	lease, err := root.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key, value string, opts ...clientv3.OpOption) {
		t.Helper()
		if _, err := root.Put(ctx, k.Prefix()+key, value, opts...); err != nil {
			t.Fatal(err)
		}
	}
	put("events/a", "expires", clientv3.WithLease(lease.ID))
	put("minions/a", "now")
	put("pods/a", "now")
	want := map[string]string{"minions/a": "then", "minions/b": "then", "pods/b": "then"}
	keep := func(e datastore.Entry) bool { return strings.HasPrefix(e.Key, "minions/") }
	if err := env.store.State(k).Bring(ctx, datastore.LeftByRestores, entriesOf(want), keep, func(datastore.Change) {}); err != nil {
		t.Fatal(err)
	}
	got, _ := readAll(t, k)
	if diff := cmp.Diff(map[string]string{"minions/a": "now", "pods/b": "then"}, got); diff != "" {
		t.Error(diff)
	}
	if r, err := root.Get(ctx, k.Prefix()+"events/a"); err != nil || len(r.Kvs) != 1 {
		t.Errorf("the event: %v, %v", r, err)
	}
}

// TestBringStops: what is wanted ends with an error or comes out of order, and nothing is taken to be unwanted for it.
func TestBringStops(t *testing.T) {
	ctx, root, k := deadline(t), clientFor(t, "root"), keyspace(t, "b0000003")
	if _, err := root.Put(ctx, k.Prefix()+"z", "z"); err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn")
	for name, want := range map[string]iter.Seq2[datastore.Entry, error]{
		"AtOnce": func(yield func(datastore.Entry, error) bool) { yield(datastore.Entry{}, torn) },
		"AfterOne": func(yield func(datastore.Entry, error) bool) {
			_ = yield(datastore.Entry{Key: "a"}, nil) && yield(datastore.Entry{}, torn)
		},
		"OutOfOrder": func(yield func(datastore.Entry, error) bool) {
			_ = yield(datastore.Entry{Key: "b"}, nil) && yield(datastore.Entry{Key: "a"}, nil)
		},
		"Twice": func(yield func(datastore.Entry, error) bool) {
			if yield(datastore.Entry{Key: "b"}, nil) {
				yield(datastore.Entry{Key: "b"}, nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := env.store.State(k).Bring(ctx, datastore.LeftByRestores, want, nothing, func(datastore.Change) {}); err == nil {
				t.Error("no error")
			}
			if got, _ := readAll(t, k); got["z"] != "z" {
				t.Errorf("got %v", got)
			}
		})
	}
	// An etcd of which all has to be left takes nothing more, and gives up what is not wanted.
	err := env.store.State(k).Bring(ctx, 100, entriesOf(map[string]string{"a": "a"}), nothing, func(datastore.Change) {})
	if got, _ := readAll(t, k); !errors.Is(err, datastore.ErrNoSpace) || got["z"] != "z" {
		t.Errorf("got %v, %v", got, err)
	}
	err = env.store.State(k).Bring(ctx, 100, entriesOf(nil), nothing, func(datastore.Change) {})
	if got, _ := readAll(t, k); err != nil || len(got) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := env.store.State(datastore.Keyspace{}).Bring(ctx, datastore.LeftByRestores, entriesOf(nil), nothing, func(datastore.Change) {}); err == nil {
		t.Error("the keyspace of no control plane was taken")
	}
}
