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
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/net/netutil"

	"kqueen.io/kqueen/internal/platform/relay"
)

const (
	// helloTimeout bounds the time in which a caller says where it wants to go.
	helloTimeout = 10 * time.Second
	// answerTimeout bounds the time until it is connected, through an exit or after a kubelet's start if need be. API servers
	// themselves give up after 30 seconds or less.
	answerTimeout = 25 * time.Second
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
	return serve(ctx, ctx, l, connector{life: ctx, dial: dial})
}

// exitGrace is how long a machine that ends carries what it has begun.
const exitGrace = 3 * time.Second

// ServeExit is Serve for the exit of a machine: when ctx ends it accepts nothing more, and ends what it carries a moment later. A call that came
// this way to a pod of another machine is answered. It answers whether the machine's kubelet knows its pods, too.
func ServeExit(ctx context.Context, l net.Listener, dial Dial, knows Knows) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(exitGrace, end) })()
	return serve(life, ctx, l, connector{life: life, dial: dial, knows: knows})
}

// serve accepts nothing more when accepting, which ends with ctx at the latest, has ended, and goes on with what it carries: it
// returns when the last connection has ended, or ctx.
func serve(ctx, accepting context.Context, l net.Listener, c connector) error {
	var carried, waiting sync.WaitGroup
	c.carried = &carried
	server := &http.Server{
		Handler:           c,
		ReadHeaderTimeout: helloTimeout,
		IdleTimeout:       helloTimeout,
		MaxHeaderBytes:    maxHeader,
		// Connections that were accepted and are not taken over yet.
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				waiting.Add(1)
			case http.StateHijacked, http.StateClosed:
				waiting.Done()
			}
		},
	}
	stop := relay.CloseWhenDone(ctx, server)
	defer stop()
	accepted := netutil.LimitListener(l, maxConnections)
	// Not Server.Shutdown, after which what is asked on a connection that was just accepted gets no answer.
	defer context.AfterFunc(accepting, func() { _ = accepted.Close() })()
	if err := server.Serve(accepted); accepting.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	waiting.Wait()
	carried.Wait()
	return nil
}

// connector lives as long as its server: connections that were taken over are not the server's any more.
type connector struct {
	life  context.Context
	dial  Dial
	knows Knows // of an exit
	// carried counts requests until their connections have ended.
	carried *sync.WaitGroup
}

func (c connector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.knows != nil && r.Method == http.MethodGet && r.URL.Path == knowsPath {
		c.knows.ServeHTTP(w, r)
		return
	}
	c.carried.Add(1)
	defer c.carried.Done()
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	far, err := c.reach(ctx, r)
	near, buffered, gone := http.NewResponseController(w).Hijack()
	if gone != nil { // the client is gone and cannot be told
		if err == nil {
			_ = far.Close()
		}
		return
	}
	if err != nil {
		_, _ = io.WriteString(near, refusal(err)) // who does not hear it sees the connection closed
		_ = near.Close()
		return
	}
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = errors.Join(near.Close(), far.Close())
		return
	}
	relay.Both(c.life, after(near, buffered.Reader), far)
}

// reach connects to the target of a request.
func (c connector) reach(ctx context.Context, r *http.Request) (net.Conn, error) {
	if r.Method != http.MethodConnect {
		return nil, fmt.Errorf("%.20q %.100q: only CONNECT is served here, to an address with a port such as 10.244.0.5:443", r.Method, r.Host)
	}
	target, err := netip.ParseAddrPort(r.Host)
	if err != nil { // a name is never looked up: what it stands for can change between the look and the call
		return nil, &refusedError{fmt.Sprintf("%.100q", r.Host), "it is not an address; " + instead}
	}
	return c.dial(ctx, netip.AddrPortFrom(target.Addr().Unmap(), target.Port()))
}

// refusal is an answer with the reason in its first line, which is all that API servers hand on to their callers.
func refusal(err error) string {
	code := http.StatusBadGateway
	if _, refused := errors.AsType[*refusedError](err); refused {
		code = http.StatusForbidden
	}
	reason := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, err.Error())
	return fmt.Sprintf("HTTP/1.1 %d %.*s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code, maxReason, reason)
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
