package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// told is a listener that says when it has accepted a connection.
type told struct {
	net.Listener
	accepted chan struct{}
}

func (l told) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted <- struct{}{}
	}
	return c, err
}

// TestAcceptedIsAnswered: what is asked after the proxy has begun to leave, on a connection that it accepted before, is answered.
func TestAcceptedIsAnswered(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is in this process
	if err != nil {
		t.Fatal(err)
	}
	l := told{port, make(chan struct{}, 1)}
	accepting, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	near, far := net.Pipe()
	go func() {
		dial := func(context.Context, netip.AddrPort) (net.Conn, error) { return near, nil }
		ended <- serve(t.Context(), accepting, l, connector{life: t.Context(), dial: dial})
	}()
	conn, err := net.Dial("tcp", l.Addr().String()) //nolint:noctx // it is in this process
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := "CONNECT 127.0.0.1:443 HTTP/1.1\r\n"
	if _, err := io.WriteString(conn, begun); err != nil {
		t.Fatal(err)
	}
	<-l.accepted
	leave()
	if _, err := io.WriteString(conn, "Host: 127.0.0.1:443\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = far.Close()
	_ = conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestExitCarriesOn: what goes through a machine that ends goes on for a moment, and no longer.
func TestExitCarriesOn(t *testing.T) {
	h := newHost(t)
	dir := h.mark("machine-a", Mark{Cluster: "a", Machine: netip.MustParseAddr("10.223.0.2")})
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeExit(ctx, l, echo("pod of a"), nil) }()
	dial := func() (net.Conn, error) {
		return dialThrough(t.Context(), dir, netip.MustParseAddrPort("10.244.0.5:80"))
	}
	used, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	reader := bufio.NewReader(used)
	if _, err := reader.ReadString('\n'); err != nil { // it is carried
		t.Fatal(err)
	}
	end()
	if _, err := io.WriteString(used, "after\n"); err != nil {
		t.Error(err)
	}
	if got, err := reader.ReadString('\n'); err != nil || got != "after\n" {
		t.Errorf("what goes on is %q: %v", got, err)
	}
	if err := <-ended; err != nil { // without its other side having ended
		t.Error(err)
	}
	if _, err := dial(); err == nil {
		t.Error("it accepts another one")
	}
}
