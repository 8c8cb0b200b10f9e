package backup

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// sorted are all entries of a keyspace.
func (s stateLines) sorted() iter.Seq2[datastore.Entry, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return entriesOf(maps.Clone(*s.of))
}

// entriesOf are entries in the order of their keys.
func entriesOf(all map[string]string) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(datastore.Entry{Key: key, Value: []byte(all[key])}, nil) {
				return
			}
		}
	}
}

func gather(entries iter.Seq2[datastore.Entry, error]) (map[string]string, error) {
	all := map[string]string{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all[e.Key] = string(e.Value)
	}
	return all, nil
}

// bucketLines lead to the files of one bucket.
type bucketLines struct {
	*place
	inj  *operatortest.Injector
	name string
}

func (b bucketLines) Close() error { return nil }

func (b bucketLines) Put(_ context.Context, name string, data []byte) error {
	return b.inj.Call("bucket.Put", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.folders[b.name] == nil {
			b.folders[b.name] = map[string][]byte{}
		}
		b.folders[b.name][name] = slices.Clone(data)
		return nil
	})
}

func (b bucketLines) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	missing := false
	data, err := operatortest.ReadValue(b.inj, "bucket.Get", func() ([]byte, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		data, ok := b.folders[b.name][name]
		missing = !ok
		return slices.Clone(data), nil
	})
	if err == nil && missing {
		return nil, archive.ErrNotFound
	}
	return data, err
}

func (b bucketLines) List(_ context.Context, folder string) ([]string, error) {
	return operatortest.ReadValue(b.inj, "bucket.List", func() ([]string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		var names []string
		for _, name := range slices.Sorted(maps.Keys(b.folders[b.name])) {
			if strings.HasPrefix(name, folder+"/") {
				names = append(names, name)
			}
		}
		return names, nil
	})
}

func (b bucketLines) Delete(_ context.Context, name string) error {
	return b.inj.Call("bucket.Delete", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.folders[b.name], name)
		return nil
	})
}
