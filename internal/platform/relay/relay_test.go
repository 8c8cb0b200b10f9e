package relay

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// pair is a connection from its both ends.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// TestPaced: what comes goes on without delay, no more of it than the pace allows, and all of it in the end.
func TestPaced(t *testing.T) {
	client, a := pair(t)
	b, server := pair(t)
	asked, allowed := make(chan int, 8), make(chan struct{}, 8)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Paced(t.Context(), a, b, func(ctx context.Context, n int) error {
			asked <- n
			select {
			case <-allowed:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	what := bytes.Repeat([]byte("0123456789abcdef"), PaceStep/8) // two steps
	sent := make(chan error, 1)
	go func() {
		_, err := server.Write(append(what, "the end"...))
		_ = server.Close()
		sent <- err
	}()
	got := make([]byte, len(what)+len("the end"))
	if _, err := io.ReadFull(client, got[:PaceStep]); err != nil {
		t.Fatal(err)
	}
	if n := <-asked; n != PaceStep {
		t.Errorf("asked after %d bytes, want %d", n, PaceStep)
	}
	_ = client.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := client.Read(got[PaceStep:]); n > 0 || err == nil {
		t.Errorf("%d bytes came before they might: %v", n, err)
	}
	_ = client.SetReadDeadline(time.Time{})
	allowed <- struct{}{}
	allowed <- struct{}{}
	if _, err := io.ReadFull(client, got[PaceStep:]); err != nil || !bytes.Equal(got[:len(what)], what) || string(got[len(what):]) != "the end" {
		t.Errorf("the rest: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	_ = client.Close()
	<-ended
}

// TestPacedEnds: a pair that waits for its pace ends with its context.
func TestPacedEnds(t *testing.T) {
	client, a := pair(t)
	b, server := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Paced(ctx, a, b, func(ctx context.Context, _ int) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	if _, err := server.Write(make([]byte, PaceStep)); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := io.Copy(io.Discard, client); err != nil {
		t.Errorf("the client was not told: %v", err)
	}
}
