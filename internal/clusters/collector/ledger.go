package collector

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"
	"unique"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// ledger knows what was last observed in a cluster, by keys and digests alone, and gathers what the store has to be told. It is safe
// for concurrent use.
//
// A kind is handed over whole when all resources that contribute to it have been listed, and by its changes from then on. While that is
// not so its changes are held. When a resource cannot be read, its kinds go by changes without ever being whole, so that what was known of
// that resource stays, and are listed once more when it can.
type ledger struct {
	seed maphash.Seed
	most int64 // bytes

	mu        sync.Mutex
	bytes     int64 // of all items, in JSON
	resources map[string]*holding
	kinds     map[inventory.Kind]*gathering
	joins     *joins
	warned    map[inventory.Key]*warned
}

// holding is what one resource holds.
type holding struct {
	objects map[string]entry // by UID
	bytes   int64
	// tried says that the first list has ended, and listed that it has ended well.
	tried, listed bool
	// ever says that one was listed to its end.
	ever bool
}

type entry struct {
	name  string
	held  []held
	bytes int64
}

type held struct {
	key    inventory.Key
	digest uint64
}

// gathering is what is to be told of a kind.
type gathering struct {
	from []string // resources
	// wanted says that the kind has to be handed over whole, and partial that it goes without, because a resource could not be read.
	wanted, partial bool
	set             map[inventory.Key]inventory.Item
	gone            map[inventory.Key]bool
}

// warned counts the events of one key.
type warned struct {
	events int
	last   time.Time
}

func newLedger(kinds []*resourceKind, most int64) *ledger {
	l := &ledger{
		seed: maphash.MakeSeed(), most: most, resources: map[string]*holding{}, kinds: map[inventory.Kind]*gathering{}, joins: newJoins(),
		warned: map[inventory.Key]*warned{},
	}
	for _, r := range append(slices.Clone(kinds), &ofCluster, &ofMetrics) {
		l.resources[r.name] = &holding{objects: map[string]entry{}}
		for _, kind := range r.kinds {
			g := l.kinds[kind]
			if g == nil {
				g = &gathering{wanted: true, set: map[inventory.Key]inventory.Item{}, gone: map[inventory.Key]bool{}}
				l.kinds[kind] = g
			}
			g.from = append(g.from, r.name)
		}
	}
	return l
}

// intern returns the one copy of a text that many objects have.
func intern(s string) string { return unique.Make(s).Value() }

// reading is a list that is being read.
type reading struct {
	seen  map[string]bool // UIDs
	bytes int64
}

// begin starts a list of a resource. The kinds that it alone contributes to are handed over whole after it.
func (l *ledger) begin(r *resourceKind) *reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range r.kinds {
		if g := l.kinds[kind]; len(g.from) == 1 {
			g.wanted, g.partial = true, false
		}
		if kind == inventory.KindWarning {
			for _, w := range l.warned { // the latest event may be gone
				w.last = time.Time{}
			}
		}
	}
	l.resources[r.name].tried, l.resources[r.name].listed = false, false
	return &reading{seen: map[string]bool{}}
}

// take observes an object, in JSON. in is the list that it is from, nil for a watch.
func (l *ledger) take(r *resourceKind, raw []byte, in *reading) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, err := r.decode(l.joins, raw)
	if err != nil {
		return err
	}
	now, err := l.entryOf(listing.Clean(o.name, maxName), o.items)
	if err != nil {
		return err
	}
	if in != nil {
		in.seen[o.uid] = true
		in.bytes += now.bytes
	}
	if !l.fits(l.resources[r.name], o.uid, now, in) {
		return errTooMuch
	}
	return l.hold(r.name, o.uid, now, o.items, in != nil)
}

// fits says whether an object may be held, too: what is held waits in memory until the store has it, and the store keeps it. In a list, what
// was held of the resource before does not count, for it may be gone.
func (l *ledger) fits(h *holding, uid string, now entry, in *reading) bool {
	if in != nil {
		return l.bytes-h.bytes+in.bytes <= l.most
	}
	before := h.objects[uid].bytes
	return now.bytes <= before || l.bytes-before+now.bytes <= l.most
}

// derive observes what no object says, but the API server itself. part says which of it: what another part said stays.
func (l *ledger) derive(r *resourceKind, part string, items []inventory.Item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.observe(r.name, part, "", items)
}

// observe takes what is said again, or not by an object.
func (l *ledger) observe(resource, uid, name string, items []inventory.Item) error {
	now, err := l.entryOf(name, items)
	if err != nil {
		return err
	}
	return l.hold(resource, uid, now, items, false)
}

// entryOf is what is kept of items.
func (l *ledger) entryOf(name string, items []inventory.Item) (entry, error) {
	out := entry{name: name, held: make([]held, 0, len(items))}
	for i := range items {
		encoded, err := json.Marshal(&items[i])
		if err != nil {
			return out, fmt.Errorf("digest %s %s: %w", items[i].Key.Kind, items[i].Key.Name, err)
		}
		out.bytes += int64(len(encoded))
		out.held = append(out.held, held{key: internKey(items[i].Key), digest: maphash.Bytes(l.seed, encoded)})
	}
	return out, nil
}

// hold compares what an object says with what it said before. force hands items over that are the same.
func (l *ledger) hold(resource, uid string, now entry, items []inventory.Item, force bool) error {
	h := l.resources[resource]
	before := h.objects[uid]
	for i, n := range now.held {
		at := slices.IndexFunc(before.held, func(b held) bool { return b.key == n.key })
		if at < 0 || before.held[at].digest != n.digest || force {
			l.set(items[i], at < 0)
		}
	}
	for _, b := range before.held {
		if !slices.ContainsFunc(now.held, func(n held) bool { return n.key == b.key }) {
			l.drop(b.key)
		}
	}
	h.objects[uid] = now
	l.weigh(h, now.bytes-before.bytes)
	return l.settleJoins()
}

// settleJoins observes nodes again that another object changed.
func (l *ledger) settleJoins() error {
	for uid, items := range l.joins.changed {
		delete(l.joins.changed, uid)
		if e, ok := l.resources["nodes"].objects[uid]; ok {
			if err := l.observe("nodes", uid, e.name, items); err != nil {
				return err
			}
		}
	}
	return nil
}

func internKey(k inventory.Key) inventory.Key {
	k.Namespace, k.Part = intern(k.Namespace), intern(k.Part)
	return k
}

// weigh notes that a resource holds so many bytes more.
func (l *ledger) weigh(h *holding, bytes int64) {
	h.bytes += bytes
	l.bytes += bytes
}

// set gathers an item. Several events have one key: the latest one is told, and it is gone with the last one.
func (l *ledger) set(item inventory.Item, first bool) {
	if item.Warning != nil {
		w := l.warned[item.Key]
		if w == nil {
			w = &warned{}
			l.warned[item.Key] = w
		}
		if first {
			w.events++
		}
		if item.Warning.LastSeen.Before(w.last) {
			return
		}
		w.last = item.Warning.LastSeen
	}
	g := l.kinds[item.Key.Kind]
	g.set[item.Key] = item
	delete(g.gone, item.Key)
}

func (l *ledger) drop(key inventory.Key) {
	if w := l.warned[key]; w != nil {
		if w.events--; w.events > 0 {
			return
		}
		delete(l.warned, key)
	}
	g := l.kinds[key.Kind]
	delete(g.set, key)
	g.gone[key] = true
}

// remove observes that an object of a watch is gone.
func (l *ledger) remove(r *resourceKind, raw []byte) error {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return fmt.Errorf("read object: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.removeUID(r.name, o.Meta.UID)
}

func (l *ledger) removeUID(resource, uid string) error {
	h := l.resources[resource]
	e, ok := h.objects[uid]
	if !ok {
		return nil
	}
	for _, b := range e.held {
		l.drop(b.key)
	}
	delete(h.objects, uid)
	l.weigh(h, -e.bytes)
	l.joins.forget(uid, e.name)
	return l.settleJoins()
}

// finish ends a list that was read to its end. It returns the resources that have to be listed once more, so that what could not be
// handed over whole before can be.
func (l *ledger) finish(r *resourceKind, in *reading) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.resources[r.name]
	for uid := range h.objects {
		if !in.seen[uid] {
			if err := l.removeUID(r.name, uid); err != nil {
				return nil, err
			}
		}
	}
	h.tried, h.listed, h.ever = true, true, true
	return l.again(r), nil
}

// again finds the kinds that a resource makes complete after they went without it.
func (l *ledger) again(r *resourceKind) []string {
	var out []string
	for _, kind := range r.kinds {
		g := l.kinds[kind]
		if !g.partial || !l.ready(g) {
			continue
		}
		g.partial, g.wanted = false, true
		for _, name := range g.from {
			if name == ofCluster.name {
				continue // it has said all and says it again
			}
			l.resources[name].tried, l.resources[name].listed = false, false
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// settle says that all is known that no object says.
func (l *ledger) settle(r *resourceKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resources[r.name].tried, l.resources[r.name].listed = true, true
}

// fail notes that a list did not come to its end. What is known of the resource stays.
func (l *ledger) fail(r *resourceKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resources[r.name].tried, l.resources[r.name].listed = true, false
}

// ready says whether all of a kind has been listed.
func (l *ledger) ready(g *gathering) bool {
	return !slices.ContainsFunc(g.from, func(name string) bool { return !l.resources[name].listed })
}

func (l *ledger) open(g *gathering) bool {
	return !slices.ContainsFunc(g.from, func(name string) bool { return !l.resources[name].tried })
}

// planes says which components of the control plane are seen as pods, whether pods were ever listed, and whether that was tried.
func (l *ledger) planes() (seen map[string]bool, ever, tried bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen = map[string]bool{}
	for _, part := range unseen {
		seen[part] = l.joins.seen(part)
	}
	pods := l.resources["pods"]
	return seen, pods.ever, pods.ever || pods.tried
}
