// Package relay carries the bytes of two connections to each other.
//
// It hides the ways in which a pair of connections ends: one side has nothing more to say, one side breaks,
// or the pair is not wanted any longer. Proxies import it.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Both carries what comes from each connection to the other one and closes both before it returns: when both
// sides have ended, when one breaks, or when ctx ends. A side that ends is told on, while the other direction
// goes on. Between sockets the kernel moves the bytes, so neither should be wrapped without need.
func Both(ctx context.Context, a, b net.Conn) { Paced(ctx, a, b, nil) }

// Pace is called after so many bytes were carried, and returns when more may be.
type Pace func(ctx context.Context, bytes int) error

// Paced is Both at a pace, for both directions together.
func Paced(ctx context.Context, a, b net.Conn, pace Pace) {
	ctx, cut := context.WithCancel(ctx)
	stopA, stopB := CloseWhenDone(ctx, a), CloseWhenDone(ctx, b)
	defer func() {
		cut()
		stopA()
		stopB()
	}()
	var back sync.WaitGroup
	back.Go(func() { pass(ctx, a, b, pace, cut) })
	pass(ctx, b, a, pace, cut)
	back.Wait()
}

// pass copies until from ends and tells to that nothing more comes. A broken connection cuts both directions.
func pass(ctx context.Context, to, from net.Conn, pace Pace, cut context.CancelFunc) {
	if err := copyAll(ctx, to, from, pace); err != nil {
		cut()
		return
	}
	half, ok := to.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		cut()
	}
}

// PaceStep is how many bytes go before the pace is asked, and the most that it is asked for at once: less costs calls, more is
// carried at once by each of many connections.
const PaceStep = 64 << 10

func copyAll(ctx context.Context, to, from net.Conn, pace Pace) error {
	if pace == nil {
		_, err := io.Copy(to, from)
		return err
	}
	for {
		n, err := io.CopyN(to, from, PaceStep)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = pace(ctx, int(n))
		}
		if err != nil {
			return err
		}
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
