package chain

import (
	"errors"
	"io"
	"net"
	"testing"
)

// TestLimitConnections: one address has its most, others have theirs, and who goes makes room.
func TestLimitConnections(t *testing.T) {
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := LimitConnections(plain, 4, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := d.DialContext(t.Context(), "tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var held []net.Conn
	for _, from := range []string{"127.0.0.1", "127.0.0.1", "127.0.0.2"} {
		dial(from)
		held = append(held, <-accepted)
	}
	// It is closed and not accepted; a reset says that too.
	if n, err := dial("127.0.0.1").Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one too many reads %d bytes, %v", n, err)
	}
	if err := errors.Join(held[0].Close(), held[2].Close()); err != nil {
		t.Fatal(err)
	}
	conn := dial("127.0.0.1")
	server := <-accepted
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("after one has gone, another one reads: %v", err)
	}
	if err := l.Close(); err != nil || !errors.Is(<-ended, net.ErrClosed) {
		t.Errorf("close: %v", err)
	}
	_ = server.Close()
	_ = held[1].Close()
}

// TestDetached: a connection that is counted elsewhere makes room for another one, once; a listener that is full can be closed.
func TestDetached(t *testing.T) {
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := LimitConnections(plain, 1, 1)
	accepted, ended := make(chan net.Conn), make(chan error)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	var held []net.Conn
	for range 2 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server := <-accepted
		held = append(held, server)
		if len(held) == 1 {
			uncount(WithConnection(t.Context(), server))
		}
	}
	if err := held[0].Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil || !errors.Is(<-ended, net.ErrClosed) {
		t.Errorf("close: %v", err)
	}
	_ = held[1].Close()
}
