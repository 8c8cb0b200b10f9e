// Package relay carries the bytes of two connections to each other.
//
// It hides the ways in which a pair of connections ends: one side has nothing more to say, one side breaks,
// or the pair is not wanted any longer. Proxies import it.
package relay

import (
	"context"
	"io"
	"net"
	"sync"
)

// Both carries what comes from each connection to the other one and closes both before it returns: when both
// sides have ended, when one breaks, or when ctx ends. A side that ends is told on, while the other direction
// goes on. Between sockets the kernel moves the bytes, so neither should be wrapped without need.
func Both(ctx context.Context, a, b net.Conn) {
	ctx, cut := context.WithCancel(ctx)
	stopA, stopB := CloseWhenDone(ctx, a), CloseWhenDone(ctx, b)
	defer func() {
		cut()
		stopA()
		stopB()
	}()
	var back sync.WaitGroup
	back.Go(func() { pass(a, b, cut) })
	pass(b, a, cut)
	back.Wait()
}

// pass copies until from ends and tells to that nothing more comes. A broken connection cuts both directions.
func pass(to, from net.Conn, cut context.CancelFunc) {
	if _, err := io.Copy(to, from); err != nil {
		cut()
		return
	}
	half, ok := to.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		cut()
	}
}

// CloseWhenDone closes c as soon as ctx ends, which ends everything that waits on it. stop takes that back or,
// when it is too late for that, waits until c is really closed: a second Close returns at once, while the
// first may not have given the socket back yet.
func CloseWhenDone(ctx context.Context, c io.Closer) (stop func()) {
	closed := make(chan struct{})
	after := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = c.Close()
	})
	return func() {
		if !after() {
			<-closed
		}
	}
}
