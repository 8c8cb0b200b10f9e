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
		ended <- serve(t.Context(), accepting, l, func(context.Context, netip.AddrPort) (net.Conn, error) { return near, nil })
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
