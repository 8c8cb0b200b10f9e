package collector

import (
	"cmp"
	"maps"
	"slices"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// batch is what is handed to the store at once, and what it needs to be taken back.
type batch struct {
	inventory.Changes

	kinds map[inventory.Kind]*gathering // as they were
}

func (b *batch) size() int { return len(b.Set) + len(b.Gone) }

// gather takes what can be told now. It is empty when there is nothing.
func (l *ledger) gather() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &batch{kinds: map[inventory.Kind]*gathering{}}
	for _, kind := range slices.Sorted(maps.Keys(l.kinds)) {
		g := l.kinds[kind]
		was := *g
		if g.wanted {
			switch {
			case l.ready(g):
				out.Whole = append(out.Whole, kind)
				g.wanted = false
				clear(g.gone) // what is not in a whole is gone
			case l.open(g):
				g.wanted, g.partial = false, true
			default:
				continue
			}
		}
		if !was.wanted && len(g.set)+len(g.gone) == 0 {
			continue
		}
		out.kinds[kind] = &was
		out.Set = append(out.Set, slices.SortedFunc(maps.Values(g.set), func(a, b inventory.Item) int { return compareKeys(a.Key, b.Key) })...)
		out.Gone = append(out.Gone, slices.SortedFunc(maps.Keys(g.gone), compareKeys)...)
		g.set, g.gone = map[inventory.Key]inventory.Item{}, map[inventory.Key]bool{}
	}
	return out
}

// restore takes back what the store did not take. What was observed since then stays.
func (l *ledger) restore(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, was := range b.kinds {
		g := l.kinds[kind]
		g.wanted = g.wanted || was.wanted
		if was.wanted {
			g.partial = was.partial
		}
		for key, item := range was.set {
			if _, newer := g.set[key]; !newer && !g.gone[key] {
				g.set[key] = item
			}
		}
		for key := range was.gone {
			if _, newer := g.set[key]; !newer {
				g.gone[key] = true
			}
		}
	}
}

// waiting is how many changes can be told, without those of kinds that are held.
func (l *ledger) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, g := range l.kinds {
		if !g.wanted {
			n += len(g.set) + len(g.gone)
		}
	}
	return n
}

func compareKeys(a, b inventory.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part), cmp.Compare(a.UID, b.UID))
}

// size is how many objects of a resource are known.
func (l *ledger) size(r *resourceKind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.resources[r.name].objects)
}
