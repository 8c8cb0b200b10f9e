//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// flood is what bad clients do to a server: total requests over as many connections as there are clients.
type flood struct {
	api *api
	// member is a valid token, of a user who misuses it.
	member         string
	clients, total int
	// slow is how many clients begin with a request that they do not finish.
	slow int

	mu       sync.Mutex
	statuses map[int]int
	broken   int // requests that ended without an answer, as some of these must
	wrong    []string
}

// floodSource is where bad clients come from, so that no other caller is kept waiting for their wrong passwords.
const floodSource = "127.0.0.66"

// run sends everything and returns when it was answered.
func (f *flood) run(ctx context.Context) {
	f.statuses = map[int]int{}
	var clients sync.WaitGroup
	for n := range f.clients {
		clients.Go(func() {
			b := f.client(n)
			defer b.http.CloseIdleConnections()
			for i := range f.total / f.clients {
				f.one(ctx, b, n, i)
			}
		})
	}
	clients.Wait()
}

// one sends one bad request. The kinds follow each other, and clients begin at different ones.
func (f *flood) one(ctx context.Context, b *badClient, n, i int) {
	if i == 0 && n < f.slow {
		status, err := b.raw(ctx, slowly[n%len(slowly)], false)
		f.count("slow", status, err)
		return
	}
	if i%10 == 9 {
		k := torn[(n+i/10)%len(torn)]
		status, err := b.raw(ctx, k, true)
		f.count(fmt.Sprintf("%.40q", k), status, err)
		return
	}
	k := badRequests[(n+i)%len(badRequests)]
	status, err := b.send(ctx, k, n*f.total+i)
	f.count(k.name, status, err)
}

func (f *flood) count(name string, status int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.broken++
		return
	}
	f.statuses[status]++
	if status < http.StatusMultipleChoices || status >= http.StatusInternalServerError {
		f.wrong = append(f.wrong, fmt.Sprintf("%s: %d", name, status))
	}
}

// badClient has one connection at a time.
type badClient struct {
	*flood
	tls  *tls.Config
	dial *net.Dialer
	http *http.Client
}

// client makes the client of a number: every other one speaks HTTP/2.
func (f *flood) client(n int) *badClient {
	trusting := f.api.client.Transport.(*http.Transport).TLSClientConfig
	b := &badClient{flood: f, tls: trusting.Clone(), dial: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(floodSource)}}}
	b.tls.NextProtos = nil
	b.http = &http.Client{
		Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{TLSClientConfig: b.tls.Clone(), DialContext: b.dial.DialContext, MaxConnsPerHost: 1, ForceAttemptHTTP2: n%2 == 0},
	}
	return b
}

// badRequest is one that a client library sends as it is.
type badRequest struct {
	name, method, path, body string
	header                   map[string]string
	// member says that an authenticated caller does it.
	member bool
}

// deep is valid JSON that a parser has to stop reading.
var deep = strings.Repeat("[", 5000) + strings.Repeat("]", 5000)

// badRequests have %d where the number of the request goes.
var badRequests = []badRequest{
	{name: "no token", method: "GET", path: "/me"},
	{name: "an unknown token", method: "GET", path: "/organizations", header: map[string]string{"Authorization": "Bearer kqs_%d"}},
	{name: "no token at all", method: "GET", path: "/organizations", header: map[string]string{"Authorization": "Basic YWRtaW46YWRtaW4="}},
	{name: "a long token", method: "GET", path: "/me", header: map[string]string{"Authorization": "Bearer " + strings.Repeat("x", 20<<10)}},
	{name: "a wrong password", method: "POST", path: "/signin", body: `{"name":"nobody-%d","password":"wrong password"}`},
	{name: "broken JSON", method: "POST", path: "/signin", body: `{"name":"nobody-%d"`},
	{name: "deep JSON", method: "POST", path: "/signin", body: deep},
	{name: "not JSON", method: "POST", path: "/password", body: "\x00\x01\x02"},
	{name: "another type", method: "POST", path: "/signin", body: "name=x", header: map[string]string{"Content-Type": "text/plain"}},
	{name: "a field too many", method: "POST", path: "/setup", body: `{"token":"x","name":"x","password":"wrong password","admin":true}`},
	{name: "a huge body", method: "POST", path: "/signin", body: strings.Repeat(" ", 1<<20)},
	{name: "a member's huge body", method: "POST", path: "/me/tokens", body: strings.Repeat(" ", 3<<19), member: true},
	{name: "a member's deep JSON", method: "POST", path: "/me/tokens", body: deep, member: true},
	{name: "a member's broken JSON", method: "POST", path: "/me/tokens", body: `{"name":}`, member: true},
	{name: "a bad cursor", method: "GET", path: "/organizations?cursor=%d", member: true},
	{name: "an unknown parameter", method: "GET", path: "/organizations?admin=%d", member: true},
	{name: "a bad selector", method: "GET", path: "/organizations?labelSelector=%%21%%21%%3D", member: true},
	{name: "a limit too high", method: "GET", path: "/organizations?limit=1000000%d", member: true},
	{name: "another organization", method: "GET", path: "/organizations/payments/clusters", member: true},
	{name: "what is for administrators", method: "GET", path: "/users", member: true},
	{name: "an unknown route", method: "GET", path: "/nothing/%d"},
	{name: "a wrong method", method: "PUT", path: "/organizations"},
	{name: "an odd method", method: "PROPFIND", path: "/me"},
	{name: "a path out of the tree", method: "GET", path: "/organizations/..%%2f..%%2fetc%%2fpasswd"},
	{name: "a path with nothing in it", method: "GET", path: "/organizations//clusters"},
	{name: "a path with a zero", method: "GET", path: "/organizations/%%00/clusters", member: true},
	{name: "a path with dots", method: "GET", path: "/organizations/../users"},
	{name: "a forged user", method: "GET", path: "/me", header: map[string]string{"Impersonate-User": "system:admin"}, member: true},
	{name: "a forged group", method: "GET", path: "/me", header: map[string]string{"X-Remote-Group": "system:masters"}},
	{name: "too many headers", method: "GET", path: "/me", header: map[string]string{"X-Filler": strings.Repeat("x", 64<<10)}},
	{name: "a watch with an unknown token", method: "GET", path: "/organizations/payments/clusters?watch=true", header: map[string]string{"Last-Event-ID": "x"}},
}

func (b *badClient) send(ctx context.Context, k badRequest, number int) (int, error) {
	numbered := func(s string) string {
		if strings.Contains(s, "%") {
			return strings.Replace(strings.ReplaceAll(s, "%%", "%"), "%d", fmt.Sprint(number), 1)
		}
		return s
	}
	// Without URL.Opaque the client would tidy up some of the paths.
	at, err := url.Parse(b.api.url)
	if err != nil {
		return 0, err
	}
	path, query, _ := strings.Cut(numbered(k.path), "?")
	req, err := http.NewRequestWithContext(ctx, k.method, at.Scheme+"://"+at.Host, bytes.NewReader([]byte(numbered(k.body))))
	if err != nil {
		return 0, err
	}
	req.URL.Opaque, req.URL.RawQuery = "//"+at.Host+rest.Prefix+path, query
	req.Header.Set("Content-Type", "application/json")
	if k.member {
		req.Header.Set("Authorization", "Bearer "+b.member)
	}
	for name, value := range k.header {
		req.Header.Set(name, numbered(value))
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// head begins a request that is written by hand.
const head = "POST " + rest.Prefix + "/signin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

// torn are requests whose client closes its side after them.
var torn = []string{
	"", "\r\n", "GET", "GET / HTTP/1.9.9\r\n\r\n", "\x16\x03\x01\x00", head + "Content-Length: 100\r\n\r\n{", head + "Content-Length: -1\r\n\r\n",
	head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", head + "Transfer-Encoding: chunked\r\n\r\nnothing\r\n",
	head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", head + "X: a\r\n b\x00\r\n\r\n",
	"GET " + rest.Prefix + "/me HTTP/1.1\r\n\r\n", "GET http://elsewhere.example/me HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
}

// slowly are requests that never come to their end; their clients wait until the server does not.
var slowly = []string{
	"GET " + rest.Prefix + "/me HTTP/1.1\r\nHost: x\r\nX-Fill", // in the headers
	head + "Content-Length: 10000\r\n\r\n{",                    // in the body
	head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",          // in a chunk
	"", // before anything
}

// raw writes bytes to a connection of its own, may close its side, and reads one answer, if there is one.
func (b *badClient) raw(ctx context.Context, text string, closes bool) (int, error) {
	b.http.CloseIdleConnections()
	at, err := url.Parse(b.api.url)
	if err != nil {
		return 0, err
	}
	raw, err := b.dial.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return 0, err
	}
	defer raw.Close()
	config := b.tls.Clone()
	config.ServerName = at.Hostname()
	conn := tls.Client(raw, config)
	if err := errors.Join(conn.SetDeadline(time.Now().Add(patience)), conn.HandshakeContext(ctx)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, err
	}
	if closes {
		if err := conn.CloseWrite(); err != nil {
			return 0, err
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}
