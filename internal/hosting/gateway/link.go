package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"

	"kqueen.io/kqueen/internal/platform/relay"
)

// TLS alerts that are sent in clear, before any key is agreed on (RFC 8446, section 6).
const (
	alertInternalError    = 80
	alertUnrecognizedName = 112
)

// A peer that is gone without a word is noticed after Idle + Count*Interval: watches are silent for a long time, so there is no idle limit.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4}

// lingerTimeout is how long a refused client may take to read why.
const lingerTimeout = time.Second

// handle takes a connection from its hello to its end.
func (g *Gateway) handle(ctx context.Context, l *link) {
	client := l.client
	defer func() { _ = client.Close() }()
	defer relay.CloseWhenDone(ctx, client)()
	log := g.c.Log.With("client", client.RemoteAddr())

	keepAlives(client)
	_ = client.SetReadDeadline(time.Now().Add(g.c.HelloTimeout))
	first, err := readFirst(client, g.c.PlainPort != 0)
	refused := func(outcome string) {
		g.metrics.count(outcome)
		refuse(client, outcome, first.plain)
	}
	if err != nil {
		log.DebugContext(ctx, "refused", "err", err)
		refused(outcomeNoHello)
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	if l.host != "" {
		first.host = l.host
	}

	to, leave, err := g.join(first.host, l)
	if err != nil {
		log.DebugContext(ctx, "refused", "host", first.host, "err", err)
		refused(outcomeOf(err))
		return
	}
	defer leave()

	server, err := g.reach(ctx, l, first, to, log)
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, errAsleep) {
			level = slog.LevelDebug
		}
		log.Log(ctx, level, "not passed on", "host", first.host, "backend", to.backend, "err", err)
		refused(outcomeOf(err))
		return
	}
	g.metrics.count(outcomePassed)
	if !first.plain { // a request may be all that a client of HTTP has to say
		defer g.cutSilent(ctx, l, first, log).Stop()
	}
	relay.Paced(ctx, client, server, to.bytes.WaitN)
}

// restartWithin is for how long a backend at whose port nothing listens is tried again: one that ends has its port taken by the gateway, or
// by the next one, soon.
const restartWithin = time.Second

// reach connects to the backend of a name. One that sleeps is woken, and waited for.
func (g *Gateway) reach(ctx context.Context, l *link, first hello, to destination, log *slog.Logger) (net.Conn, error) {
	for end := time.Now().Add(restartWithin); ; {
		server, err := g.try(ctx, l, first, to, log)
		now, there := g.destination(first.host)
		switch slept := there && now.asleep != nil && now.asleep != to.asleep; {
		case errors.Is(err, errAsleep), err == nil && !slept:
			return server, err
		case err == nil: // it fell asleep meanwhile, and what answers at its port is this gateway
			_ = server.Close()
		case !there || ctx.Err() != nil || !errors.Is(err, syscall.ECONNREFUSED) || now.asleep == nil && time.Now().After(end):
			return nil, fmt.Errorf("%w: %w", errNoBackend, err)
		}
		wait(ctx, portAgain)
		if to, there = g.destination(first.host); !there {
			return nil, errNoRoute
		}
	}
}

// try connects to a backend once; to one that sleeps, when it is awake.
func (g *Gateway) try(ctx context.Context, l *link, first hello, to destination, log *slog.Logger) (net.Conn, error) {
	backend := to.backend
	if first.plain {
		backend = netip.AddrPortFrom(backend.Addr(), g.c.PlainPort)
	}
	if to.asleep == nil {
		return g.dial(ctx, backend.String(), first.raw)
	}
	if err := to.asleep.hold(ctx, l, first, g.c.HoldTimeout, log); err != nil {
		return nil, err
	}
	return g.dialWoken(ctx, backend.String(), first.raw)
}

// destination is where connections for a name go now; false when there is no route any more.
func (g *Gateway) destination(host string) (destination, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.find(canonical(host))
	if !ok {
		return destination{}, false
	}
	return r.destination, true
}

// cutSilent cuts a connection on which nothing comes after the hello: a client that means it answers the server's first message. Which
// client goes on is the server's to know.
func (g *Gateway) cutSilent(ctx context.Context, l *link, first hello, log *slog.Logger) *time.Timer {
	return time.AfterFunc(g.c.HelloTimeout, func() {
		if l.received() <= uint64(len(first.raw)) {
			log.DebugContext(ctx, "cut: nothing came after the hello", "host", first.host)
			g.metrics.count(outcomeSilent)
			l.cut()
		}
	})
}

// dial connects to a backend and hands it the hello, both within DialTimeout.
func (g *Gateway) dial(ctx context.Context, backend string, hello []byte) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, g.c.DialTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	server, err := dialer.DialContext(ctx, "tcp", backend)
	if err != nil {
		return nil, err
	}
	stop := relay.CloseWhenDone(ctx, server)
	_, err = server.Write(hello)
	stop()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

func keepAlives(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
}

// outcomeOf is how a client that is not passed on is counted.
func outcomeOf(err error) string {
	switch {
	case errors.Is(err, errNoRoute):
		return outcomeNoHost
	case errors.Is(err, errNoBackend):
		return outcomeNoBackend
	case errors.Is(err, errAsleep):
		return outcomeAsleep
	}
	return outcomeHostFull
}

// refuse tells a client why it is not served. What said nothing that is TLS or HTTP is told nothing.
func refuse(c net.Conn, outcome string, plain bool) {
	if plain {
		refusePlain(c, outcome)
		return
	}
	alert := byte(alertInternalError)
	switch outcome {
	case outcomeNoHello:
		return
	case outcomeNoHost:
		alert = alertUnrecognizedName
	}
	_ = c.SetDeadline(time.Now().Add(lingerTimeout))
	if _, err := c.Write([]byte{21, 3, 1, 0, 2, 2, alert}); err == nil {
		linger(c)
	}
}

// linger gives a client the time to read what it was told: closing a socket with unread bytes would throw that away.
func linger(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, maxHello)
	}
}
