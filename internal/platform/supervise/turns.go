package supervise

import (
	"slices"
	"sync"
)

// turns lets only so many heavy components start at once, in the order in which they came. Twenty API servers that
// start together on two processors are all ready late; one after the other, half of them are ready in half the time and
// the last no later.
type turns struct {
	mu      sync.Mutex
	free    int
	holders map[*keeper]bool
	queue   []*keeper
}

func newTurns(n int) *turns { return &turns{free: n, holders: map[*keeper]bool{}} }

// take reports whether k may start. When it may not, k stands in the queue and is poked at its turn.
func (t *turns) take(k *keeper) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders[k] {
		return true
	}
	if !slices.Contains(t.queue, k) {
		t.queue = append(t.queue, k)
	}
	if t.free == 0 || t.queue[0] != k {
		return false
	}
	t.free--
	t.queue = t.queue[1:]
	t.holders[k] = true
	return true
}

// give ends k's turn, or its place in the queue. It may be called at any time.
func (t *turns) give(k *keeper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = slices.DeleteFunc(t.queue, func(q *keeper) bool { return q == k })
	if t.holders[k] {
		delete(t.holders, k)
		t.free++
	}
	// Also when k only left the queue: the next one may have waited for k alone.
	for _, next := range t.queue[:min(t.free, len(t.queue))] {
		next.poke()
	}
}
