package datastore

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// bringOps and bringBytes are the most that one transaction changes: less than etcd takes (128 operations, 1.5 MiB beside one
	// large value), and few enough that the writes of other tenants are not held up behind it.
	bringOps   = 100
	bringBytes = 256 << 10
)

// Change is what sets a keyspace apart from the state that it is wanted in.
type Change struct {
	Verb Verb
	Key  string
	// Bytes is the size of what is written: a key and its value; 0 for a key that is removed.
	Bytes int
}

// Verb says how a key differs.
type Verb string

// Verbs of a [Change].
const (
	// Added is of a key that is wanted and not there.
	Added Verb = "Added"
	// Changed is of a key with another value.
	Changed Verb = "Changed"
	// Removed is of a key that is there and not wanted.
	Removed Verb = "Removed"
)

// Compare calls tell for every key by which a keyspace differs from what is wanted, in the order of keys, and changes nothing.
// want comes in the order of keys, which are unique, as [State.Entries] gives them; entries of which keep is true are left as they are.
func (s State) Compare(ctx context.Context, want iter.Seq2[Entry, error], keep func(Entry) bool, tell func(Change)) error {
	return differ(want, s.Entries(ctx, nil), keep, func(c Change, _ []byte) error {
		tell(c)
		return nil
	})
}

// Bring makes a keyspace what is wanted, as [State.Compare] tells it, by ordinary writes: revisions go on, and a watch sees each change. Nothing
// else may write to the keyspace meanwhile. So many percent of the etcd are left, or the error is [ErrNoSpace]. It stops at the first error
// and may be called again, which writes what is left.
func (s State) Bring(ctx context.Context, left int, want iter.Seq2[Entry, error], keep func(Entry) bool, tell func(Change)) error {
	b := batch{of: s, left: left}
	err := differ(want, s.Entries(ctx, nil), keep, func(c Change, value []byte) error {
		op := clientv3.OpDelete(s.of.Prefix() + c.Key) // which a full etcd takes, too
		if c.Verb != Removed {
			op = clientv3.OpPut(s.of.Prefix()+c.Key, string(value))
		}
		if err := b.add(ctx, op, c.Bytes); err != nil {
			return err
		}
		tell(c)
		return nil
	})
	if err != nil {
		return err
	}
	return b.commit(ctx)
}

// batch gathers writes.
type batch struct {
	of    State
	left  int // percent of the etcd
	ops   []clientv3.Op
	bytes int
	// unasked is how much may be written before it is asked again whether there is space.
	unasked int
}

func (b *batch) add(ctx context.Context, op clientv3.Op, size int) error {
	if len(b.ops) > 0 && b.bytes+size > bringBytes {
		if err := b.commit(ctx); err != nil {
			return err
		}
	}
	b.ops, b.bytes = append(b.ops, op), b.bytes+size
	if len(b.ops) < bringOps {
		return nil
	}
	return b.commit(ctx)
}

func (b *batch) commit(ctx context.Context) error {
	if len(b.ops) == 0 {
		return nil
	}
	if b.unasked <= 0 && b.bytes > 0 {
		space, err := b.of.Space(ctx, b.left)
		if err != nil {
			return err
		}
		if space <= 0 {
			return ErrNoSpace
		}
		b.unasked = spaceEvery
	}
	_, err := call(ctx, b.of.store, "write keys", func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return b.of.store.client.Txn(ctx).Then(b.ops...).Commit()
	})
	b.unasked -= b.bytes
	b.ops, b.bytes = nil, 0
	return err
}

// differ walks two sorted sequences side by side and calls f for each key by which have differs from want, with the value that is wanted.
func differ(want, have iter.Seq2[Entry, error], keep func(Entry) bool, f func(Change, []byte) error) error {
	wanted, stopWanted := iter.Pull2(sorted(want, keep))
	defer stopWanted()
	present, stopPresent := iter.Pull2(sorted(have, keep))
	defer stopPresent()
	w, werr, more := wanted()
	h, herr, there := present()
	for more || there {
		if werr != nil {
			return werr
		}
		if herr != nil {
			return herr
		}
		change, value := Change{}, []byte(nil)
		takeW, takeH := true, true
		switch {
		case !there || more && w.Key < h.Key:
			change, value, takeH = Change{Added, w.Key, len(w.Key) + len(w.Value)}, w.Value, false
		case !more || h.Key < w.Key:
			change, takeW = Change{Removed, h.Key, 0}, false
		case !bytes.Equal(w.Value, h.Value):
			change, value = Change{Changed, w.Key, len(w.Key) + len(w.Value)}, w.Value
		}
		if change.Verb != "" {
			if err := f(change, value); err != nil {
				return err
			}
		}
		if takeW {
			w, werr, more = wanted()
		}
		if takeH {
			h, herr, there = present()
		}
	}
	return nil
}

// sorted leaves out the keys to keep and makes a sequence out of order an error, which would end in wrong removals.
func sorted(entries iter.Seq2[Entry, error], keep func(Entry) bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		last, first := "", true
		for e, err := range entries {
			if err == nil && !first && e.Key <= last {
				err = fmt.Errorf("key %.200q comes after %.200q: keys come in order, each once", e.Key, last)
			}
			last, first = e.Key, false
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !keep(e) && !yield(e, nil) {
				return
			}
		}
	}
}
