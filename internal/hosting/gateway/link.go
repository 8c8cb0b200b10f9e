package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
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

	to, leave, err := g.join(first.host, l)
	if err != nil {
		log.DebugContext(ctx, "refused", "host", first.host, "err", err)
		refused(outcomeOf(err))
		return
	}
	defer leave()

	backend := to.backend
	if first.plain {
		backend = netip.AddrPortFrom(backend.Addr(), g.c.PlainPort)
	}
	server, err := g.dial(ctx, backend.String(), first.raw)
	if err != nil {
		log.WarnContext(ctx, "the backend does not answer", "host", first.host, "backend", backend, "err", err)
		refused(outcomeNoBackend)
		return
	}
	g.metrics.count(outcomePassed)
	if !first.plain { // a request may be all that a client of HTTP has to say
		defer g.cutSilent(ctx, l, first, log).Stop()
	}
	relay.Paced(ctx, client, server, to.bytes.WaitN)
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

// outcomeOf is how a client that cannot join a host is counted.
func outcomeOf(err error) string {
	if errors.Is(err, errNoRoute) {
		return outcomeNoHost
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
