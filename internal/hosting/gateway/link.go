package gateway

import (
	"context"
	"errors"
	"io"
	"net"
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
	hello, host, err := readHello(client)
	if err != nil {
		log.DebugContext(ctx, "refused", "err", err)
		g.metrics.count(outcomeNoHello)
		return
	}
	_ = client.SetReadDeadline(time.Time{})

	to, leave, err := g.join(host, l)
	if err != nil {
		log.DebugContext(ctx, "refused", "host", host, "err", err)
		alert, outcome := said(err)
		g.metrics.count(outcome)
		refuse(client, alert)
		return
	}
	defer leave()

	server, err := g.dial(ctx, to.backend.String(), hello)
	if err != nil {
		log.WarnContext(ctx, "API server does not answer", "host", host, "backend", to.backend, "err", err)
		g.metrics.count(outcomeNoBackend)
		refuse(client, alertInternalError)
		return
	}
	g.metrics.count(outcomePassed)
	// A client that means it answers the API server's first message. Who goes on is not ours to know, but the API server's.
	silent := time.AfterFunc(g.c.HelloTimeout, func() {
		if l.received() <= uint64(len(hello)) {
			log.DebugContext(ctx, "cut: nothing came after the hello", "host", host)
			g.metrics.count(outcomeSilent)
			l.cut()
		}
	})
	defer silent.Stop()
	relay.Paced(ctx, client, server, to.bytes.WaitN)
}

// dial connects to an API server and hands it the hello, both within DialTimeout.
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

// said is what a client that cannot join a host is told, and how that is counted.
func said(err error) (alert byte, outcome string) {
	if errors.Is(err, errNoRoute) {
		return alertUnrecognizedName, outcomeNoHost
	}
	return alertInternalError, outcomeHostFull
}

// refuse sends a fatal alert and gives the client the time to read it: closing a socket with unread bytes would throw the alert away.
func refuse(c net.Conn, alert byte) {
	_ = c.SetDeadline(time.Now().Add(lingerTimeout))
	if _, err := c.Write([]byte{21, 3, 1, 0, 2, 2, alert}); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, maxHello)
	}
}
