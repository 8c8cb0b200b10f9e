package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"

	"kqueen.io/kqueen/internal/relay"
)

const (
	// helloTimeout bounds the time in which a caller says where it wants to go.
	helloTimeout = 10 * time.Second
	// answerTimeout bounds the time until it is connected, through an exit if need be. API servers
	// themselves give up after 30 seconds or less.
	answerTimeout = 15 * time.Second
	// maxConnections bounds the open connections of one entry or exit: watches of aggregated APIs, logs and
	// sessions, of which an API server holds hundreds in a large cluster.
	maxConnections = 4096
	// maxHeader bounds a request, which is one line and a few headers, and maxReason the text of a refusal.
	maxHeader = 8 << 10
	maxReason = 1 << 10
)

// Dial opens a connection to an address and a port.
type Dial func(ctx context.Context, target netip.AddrPort) (net.Conn, error)

// Serve answers CONNECT on l with connections from dial until ctx ends; then it closes all and returns nil.
func Serve(ctx context.Context, l net.Listener, dial Dial) error {
	server := &http.Server{
		Handler:           connector{ctx, dial},
		ReadHeaderTimeout: helloTimeout,
		IdleTimeout:       helloTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	stop := relay.CloseWhenDone(ctx, server)
	defer stop()
	if err := server.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// connector lives as long as its server: connections that were taken over are not the server's any more.
type connector struct {
	life context.Context
	dial Dial
}

func (c connector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is served here", http.StatusMethodNotAllowed)
		return
	}
	target, err := netip.ParseAddrPort(r.Host)
	if err != nil {
		http.Error(w, fmt.Sprintf("target %.100q is no address with a port, such as 10.244.0.5:443", r.Host), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	far, err := c.dial(ctx, netip.AddrPortFrom(target.Addr().Unmap(), target.Port()))
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = far.Close()
		return // nobody is there to be told
	}
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = errors.Join(near.Close(), far.Close())
		return
	}
	relay.Both(c.life, after(near, buffered.Reader), far)
}

func status(err error) int {
	if _, refused := errors.AsType[*refusedError](err); refused {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// dialThrough connects to target by way of an exit. reached is whether somebody listens at the exit: otherwise
// another one may do.
func dialThrough(ctx context.Context, exit string, target netip.AddrPort) (conn net.Conn, reached bool, err error) {
	conn, err = dialSocket(ctx, exit)
	if err != nil {
		return nil, false, err
	}
	stop := relay.CloseWhenDone(ctx, conn)
	through, err := ask(conn, target)
	stop()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, true, errors.Join(err, conn.Close())
	}
	return through, true, nil
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
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason)) // what there is of it
		return nil, fmt.Errorf("the machine answers %s: %.*s", answer.Status, maxReason, reason)
	}
	return after(conn, reader), nil
}

// after is the connection once what a reader holds back has been read. Mostly that is nothing.
func after(conn net.Conn, reader *bufio.Reader) net.Conn {
	if reader.Buffered() == 0 {
		return conn
	}
	held := io.LimitReader(reader, int64(reader.Buffered()))
	return &late{Conn: conn, reader: io.MultiReader(held, conn)}
}

// late reads what had come too early first.
type late struct {
	net.Conn
	reader io.Reader
}

func (l *late) Read(p []byte) (int, error) { return l.reader.Read(p) }

// CloseWrite says that nothing more comes.
func (l *late) CloseWrite() error {
	half, ok := l.Conn.(interface{ CloseWrite() error })
	if !ok {
		return l.Close()
	}
	return half.CloseWrite()
}
