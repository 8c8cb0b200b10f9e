package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

const (
	// attemptDelay is the time after which a call that is not connected yet goes by another machine as well (RFC 8305, section 5). One
	// that is leaving, or that has just come, may not know the way to all pods, and its packets are lost.
	attemptDelay = 250 * time.Millisecond
	// maxAttempts bounds the machines that a call goes by at one time.
	maxAttempts = 3
	// maxAnswers is how many machines have to answer that they do not reach the target until it is believed.
	maxAnswers = 2
)

// answerError is what a machine answers when it does not reach the target.
type answerError struct{ status string }

func (e *answerError) Error() string {
	return fmt.Sprintf("the machine answers: %.*s", maxReason, e.status)
}

// attempt is how an attempt has ended.
type attempt struct {
	conn net.Conn
	err  error
}

// through connects to target by way of one of the exits: that of the machine which connects first. They are tried one after the other, the
// next as soon as one has failed, or has taken long.
func through(ctx context.Context, exits []string, target netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	ended, open := make(chan attempt, len(exits)), 0
	defer func() {
		cancel()
		go closeAll(ended, open)
	}()
	begin := func() {
		if len(exits) == 0 || open == maxAttempts {
			return
		}
		exit := exits[0]
		exits = exits[1:]
		open++
		go func() {
			conn, err := dialThrough(ctx, exit, target)
			ended <- attempt{conn, err}
		}()
	}
	tick := time.NewTicker(attemptDelay)
	defer tick.Stop()
	err, answers := errors.New("the cluster has no machine on this host"), 0
	for begin(); open > 0 && answers < maxAnswers; {
		select {
		case <-tick.C:
			begin()
		case a := <-ended:
			open--
			if a.err == nil {
				return a.conn, nil
			}
			_, answered := errors.AsType[*answerError](a.err)
			if answered || answers == 0 {
				err = a.err
			}
			if answered {
				answers++
			}
			begin()
		}
	}
	return nil, fmt.Errorf("no way to %s: %w", target, err)
}

// closeAll closes the connections of attempts that are not needed any more.
func closeAll(ended <-chan attempt, open int) {
	for range open {
		if a := <-ended; a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

// dialThrough connects to target by way of an exit. The error is an [answerError] when the machine says that it does not reach it; with any
// other, nothing was passed on.
func dialThrough(ctx context.Context, exit string, target netip.AddrPort) (net.Conn, error) {
	conn, err := dialSocket(ctx, exit)
	if err != nil {
		return nil, err
	}
	stop := relay.CloseWhenDone(ctx, conn)
	through, err := ask(conn, target)
	stop()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return through, nil
}

func ask(conn net.Conn, target netip.AddrPort) (net.Conn, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target); err != nil {
		return nil, fmt.Errorf("ask the machine: %w", err)
	}
	reader := bufio.NewReaderSize(conn, maxHeader)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // it is the connection
	if err != nil {
		return nil, fmt.Errorf("read the machine's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, &answerError{answer.Status}
	}
	return after(conn, reader), nil
}
