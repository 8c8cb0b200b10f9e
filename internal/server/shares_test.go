package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/server/chain"
)

// TestSlowStrangersStopNoOtherCaller: those who begin to sign in and never say who they are take the share of their address,
// and no callers' shares.
func TestSlowStrangersStopNoOtherCaller(t *testing.T) {
	h := newFixture(t)
	address := strings.TrimPrefix(h.URL, "http://")
	const slow = chain.MaxRequests + chain.MaxEntering
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
	if refused != slow-chain.MaxStrangersOfOne {
		t.Errorf("%d of %d strangers are refused, want all but %d", refused, slow, chain.MaxStrangersOfOne)
	}
	if a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters", ""); a.status != http.StatusOK {
		t.Errorf("a viewer among strangers: %d %s", a.status, a.body)
	}
	a := h.do(t.Context(), t, "", "POST", "/api/v1/signin", `{"name":"viewer","password":"`+secret+`"}`)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("signing in from where too many do: %d %s", a.status, a.body)
	}
}

// TestTornBody: what does not come to its end is the mistake of its sender.
func TestTornBody(t *testing.T) {
	h := newFixture(t)
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
