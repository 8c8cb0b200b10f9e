package supervise

import "testing"

func TestTurns(t *testing.T) {
	a, b, c := newKeeper(nil, nil, "a"), newKeeper(nil, nil, "b"), newKeeper(nil, nil, "c")
	poked := func(k *keeper) bool {
		select {
		case <-k.wake:
			return true
		default:
			return false
		}
	}
	turns := newTurns(1)
	if !turns.take(a) {
		t.Fatal("the first has no turn")
	}
	if !turns.take(a) {
		t.Fatal("asking again loses the turn")
	}
	if turns.take(b) || turns.take(c) || turns.take(b) {
		t.Fatal("two have a turn at once")
	}
	turns.give(a)
	if !poked(b) || poked(c) {
		t.Error("the end of a turn triggers another keeper than the one that waits longest")
	}
	if turns.take(c) {
		t.Error("c goes before b")
	}
	turns.give(b) // b leaves the queue without having started
	if !poked(c) {
		t.Error("c is not triggered when the one before it leaves")
	}
	if !turns.take(c) {
		t.Error("c has no turn though no other starts")
	}
	turns.give(c)
	turns.give(c)
	if !turns.take(a) || turns.take(b) {
		t.Error("giving twice made a second turn")
	}
}
