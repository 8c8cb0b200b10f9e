package datastore

import "sync"

// granted is what the user of a keyspace was found to have, at a revision of etcd's access control.
type granted struct {
	may      Access
	revision uint64 // of all users and roles: each change of one makes it greater
}

// findings remember what each keyspace was found to have. They are safe for concurrent use.
type findings struct {
	mu sync.Mutex
	of map[Keyspace]granted
}

// have says whether that was found last. It is never so of revision 0, which no etcd with access control has.
func (f *findings) have(k Keyspace, g granted) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return g.revision != 0 && f.of[k] == g
}

func (f *findings) note(k Keyspace, g granted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[Keyspace]granted{}
	}
	f.of[k] = g
}

func (f *findings) forget(k Keyspace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, k)
}
