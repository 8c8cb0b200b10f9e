package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name string
		// takes are parties in the order in which they take; a - before one is a leave.
		takes string
		// want says for each take whether there is room.
		want string
	}{
		{"one party has its most", "a a a a", "yes yes yes no"},
		{"another one has room then", "a a a a b b", "yes yes yes no yes yes"},
		{"all is taken, but each is sure of one", "a a a b b b c d d", "yes yes yes yes yes no yes yes no"},
		{"who leaves makes room", "a a a a -a a a", "yes yes yes no yes no"},
		{"who is sure of one, and leaves, comes again", "a a a b b c -c c c", "yes yes yes yes yes yes yes no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, leaves, got := newShares(5, 3, 1), map[string][]func(){}, []string{}
			for party := range strings.FieldsSeq(c.takes) {
				if party, ok := strings.CutPrefix(party, "-"); ok {
					leaves[party][0]()
					leaves[party][0]() // counts once
					leaves[party] = leaves[party][1:]
					continue
				}
				leave := s.take(party)
				got = append(got, map[bool]string{true: "yes", false: "no"}[leave != nil])
				if leave != nil {
					leaves[party] = append(leaves[party], leave)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("takes %s: %s, want %s", c.takes, strings.Join(got, " "), c.want)
			}
			for _, all := range leaves {
				for _, leave := range all {
					leave()
				}
			}
			if s.all != 0 || len(s.of) != 0 {
				t.Errorf("all have left, and it counts %d of %v", s.all, s.of)
			}
		})
	}
}

func TestPartyOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := partyOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is in the share of %s, want %s", address, got, want)
		}
	}
	if partyOf(netip.Addr{}) == partyOf(netip.MustParseAddr("192.0.2.7")) {
		t.Error("who has no address is in another one's share")
	}
}

// TestEntrance: seats go round in the order of coming, and nobody waits for ever.
func TestEntrance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance()
		var taken []func()
		for range maxEntering {
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
		if len(e.seats) != 0 || e.present.all != 0 {
			t.Errorf("all have left, and %d seats are taken by %d", len(e.seats), e.present.all)
		}
	})
}

// TestSlowStrangersStopNobody: those who begin to sign in and never say who they are take the share of their address,
// and no callers' shares.
func TestSlowStrangersStopNobody(t *testing.T) {
	h := newHouse(t)
	address := strings.TrimPrefix(h.URL, "http://")
	const slow = maxRequests + maxEntering
	refused := 0
	for range slow {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		// The server asks for the body once there is room for who would sign in, and refuses before it where there is none.
		fmt.Fprintf(conn, "POST /api/v1/signin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "429") {
			refused++
		}
	}
	if refused != slow-maxStrangersOfOne {
		t.Errorf("%d of %d strangers are refused, want all but %d", refused, slow, maxStrangersOfOne)
	}
	if a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters", ""); a.status != http.StatusOK {
		t.Errorf("a viewer among strangers: %d %s", a.status, a.body)
	}
	a := h.do(t.Context(), t, "", "POST", "/api/v1/signin", `{"name":"viewer","password":"`+secret+`"}`)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("signing in from where too many do: %d %s", a.status, a.body)
	}
}

// TestTornBody: what does not come to its end is the mistake of whoever sent it.
func TestTornBody(t *testing.T) {
	h := newHouse(t)
	for name, body := range map[string]string{
		"too short":    "Content-Length: 100\r\n\r\n{",
		"broken chunk": "Transfer-Encoding: chunked\r\n\r\nnothing\r\n",
		"half a chunk": "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST /api/v1/signin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+body)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a body that is %s: %s", name, resp.Status)
		}
		_ = resp.Body.Close()
	}
}
