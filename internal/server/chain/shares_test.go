package chain

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestPartyOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := partyOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is in the share of %s, want %s", address, got, want)
		}
	}
	if partyOf(netip.Addr{}) == partyOf(netip.MustParseAddr("192.0.2.7")) {
		t.Error("who has no address is in another one's share")
	}
}

// TestEntrance: seats go round in the order of coming, and no request waits for ever.
func TestEntrance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance()
		var taken []func()
		for range MaxEntering {
			taken = append(taken, e.enter(t.Context(), "a"))
		}
		order := make(chan int, 3)
		for n := range 2 {
			go func() {
				if leave := e.enter(t.Context(), "b"); leave != nil {
					order <- n
					leave()
				}
			}()
			synctest.Wait()
		}
		taken[0]()
		if first, second := <-order, <-order; first != 0 || second != 1 {
			t.Errorf("the seat goes to %d before %d", first, second)
		}
		taken[0] = e.enter(t.Context(), "a")
		begin := time.Now()
		if e.enter(t.Context(), "b") != nil || time.Since(begin) != entranceWait {
			t.Errorf("all seats are taken, and one waits for %s", time.Since(begin))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if e.enter(gone, "b") != nil {
			t.Error("who has gone away has a seat")
		}
		for _, leave := range taken {
			leave()
		}
		if len(e.seats) != 0 || e.present.Taken() != 0 {
			t.Errorf("all have left, and %d seats are taken by %d", len(e.seats), e.present.Taken())
		}
	})
}
