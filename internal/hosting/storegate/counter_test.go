package storegate

import (
	"errors"
	"testing"
)

// TestCounter: what is measured as of a revision and what changes before, while and after it is measured is counted once.
func TestCounter(t *testing.T) {
	c := newCounter()
	held := func(want int64) {
		t.Helper()
		if got, known := c.held(); got != want || !known {
			t.Errorf("it holds %d (known: %t), want %d", got, known, want)
		}
	}
	c.add(delta{3, 10}) // before anything was measured: it is in what will be
	c.begin()
	if _, known := c.held(); known {
		t.Error("it is known before it was measured")
	}
	c.add(delta{5, 100})
	c.add(delta{8, 1000})
	c.settle(110, 5, nil) // as of 5: the first two are in it
	held(1110)
	c.add(delta{4, 7}) // it was late, and is in what was measured
	held(1110)
	c.add(delta{9, -1000})
	held(110)

	c.begin()
	c.add(delta{11, 20})
	c.settle(0, 0, errors.New("no answer"))
	held(130)

	c.begin()
	c.add(delta{12, 5})
	c.add(delta{14, 50})
	c.settle(135, 13, nil)
	held(185)
	c.add(delta{13, 1 << 20})
	held(185)

	c.doubt(15)
	held(200)
	select {
	case <-c.doubtful:
	default:
		t.Error("a doubt does not ask for a measurement")
	}
	c.begin()
	c.settle(185, 15, nil)
	held(185)
	c.add(delta{16, -1 << 20})
	held(0)
}

// TestReserve: what is under way counts, and a quota is that of all members together.
func TestReserve(t *testing.T) {
	g := newGroup()
	a, b := &tenant{count: newCounter()}, &tenant{count: newCounter()}
	g.join(a)
	free, err := g.reserve(growth{bytes: 1 << 40})
	if err != nil {
		t.Fatalf("without a quota: %v", err)
	}
	nothing := func() {}
	free(nothing)
	g.setQuota(1000)
	if _, err := g.reserve(growth{bytes: 1}); !errors.Is(err, errUncounted) {
		t.Errorf("what is not counted: %v, want %v", err, errUncounted)
	}
	a.count.settle(600, 1, nil)
	g.join(b)
	b.count.settle(300, 1, nil)
	first, err := g.reserve(growth{bytes: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.reserve(growth{bytes: 60}); err == nil {
		t.Error("two requests at once take more than there is")
	}
	first(func() { a.count.add(delta{2, 50}) })
	if _, err := g.reserve(growth{bytes: 51}); err == nil {
		t.Error("what was written does not count")
	}
	second, err := g.reserve(growth{bytes: 50})
	if err != nil {
		t.Fatal(err)
	}
	second(nothing)
	if left := g.leave(b); left != 1 {
		t.Errorf("%d members are left", left)
	}
	if _, err := g.reserve(growth{bytes: 350}); err != nil {
		t.Errorf("what another member held still counts: %v", err)
	}
}
