// Package listing reads lists of API servers that are not trusted: page after page, object by object, with metadata alone where that is
// enough.
//
// It hides how an answer is bounded in time, bytes, objects and connections, and which answers mean that a resource is absent or closed.
// What looks into clusters imports it.
package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/platform/text"
)

// Errors of an API server that are answered differently.
var (
	ErrExpired   = errors.New("the resource version has expired")
	ErrForbidden = errors.New("may not be read with KQueen's credential (403)")
	ErrAbsent    = errors.New("not in this cluster (404)")
	ErrTooLarge  = errors.New("answered more bytes than KQueen reads")
	ErrTooMany   = errors.New("has more objects than KQueen looks at")
)

const (
	// errorBytes is how much of an answer that is an error is read, and maxMessage how much of its message is kept.
	errorBytes = 4 << 10
	maxMessage = 256
	// extraPages are those that a list may have beside full ones: API servers cut pages short, and large ones are asked for in smaller ones.
	extraPages = 512
)

// Bounds are what the calls of a client cost at most.
type Bounds struct {
	// Call bounds a call, from its first byte out to its last byte in; those of Open have the caller's context instead.
	Call time.Duration
	// PageItems is how many objects a page is asked to have. It is made smaller where a page has more than PageBytes.
	PageItems int
	PageBytes int64
	// Objects is how many objects of one list are handed over; a list with more ends with [ErrTooMany].
	Objects int
	// Connections is how many connections there are to the API server.
	Connections int
}

// Client speaks to one API server within bounds. It is safe for concurrent use.
type Client struct {
	host   *url.URL
	http   *http.Client
	end    func()
	bounds Bounds
}

// New returns a client, whose connections Close ends. What a kubeconfig could have KQueen run or read from this host is refused: it is
// not ours. It makes no call.
func New(config *rest.Config, bounds Bounds) (*Client, error) {
	if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" {
		return nil, errors.New("the kubeconfig names a program or a file for its credential; it must hold it")
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	base, end := config.Transport, func() {}
	if base == nil {
		// A transport of its own: client-go keeps one for as long as the program runs, for every credential that there ever was.
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			return nil, fmt.Errorf("read the keys of the kubeconfig: %w", err)
		}
		own := &http.Transport{
			TLSClientConfig: tls, DialContext: config.Dial, Proxy: config.Proxy, ForceAttemptHTTP2: true,
			MaxConnsPerHost: bounds.Connections, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: bounds.Call, ResponseHeaderTimeout: bounds.Call, MaxResponseHeaderBytes: 64 << 10,
			// A peer that vanished without a word is noticed on connections that only bring watches, too.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		}
		base, end = own, own.CloseIdleConnections
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, base)
	if err != nil {
		return nil, fmt.Errorf("read the credential of the kubeconfig: %w", err)
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{host: host, http: &http.Client{Transport: wrapped, CheckRedirect: refuse}, end: end, bounds: bounds}, nil
}

// Close ends the connections that nothing is asked on.
func (c *Client) Close() { c.end() }

// Open makes one call. The caller closes the body; the context bounds both. The error of an answer that is none is one of this package, or
// has the status and the message.
func (c *Client) Open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	to := c.host.JoinPath(path)
	to.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	req.Header.Set("Accept", accept)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusForbidden:
		return nil, ErrForbidden
	case http.StatusNotFound:
		return nil, ErrAbsent
	case http.StatusGone:
		return nil, ErrExpired
	}
	return nil, answered(resp)
}

// answered is the error of an answer, with the message that the API server gives.
func answered(resp *http.Response) error {
	var status struct {
		Message string `json:"message"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, errorBytes))
	if err != nil || json.Unmarshal(body, &status) != nil {
		status.Message = ""
	}
	if status.Message == "" {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	return fmt.Errorf("answered %d: %s", resp.StatusCode, text.Cut(text.Line(status.Message), maxMessage))
}

// InTime says of a call that failed because its time was up that this is why: a connection that is closed under it has other words for it.
func InTime(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// JSON is what a call accepts.
const JSON = "application/json"

// Metadata is what a call accepts that asks for metadata alone, for example as a PartialObjectMetadataList; a server that does not know it
// answers in full.
func Metadata(as string) string {
	return "application/json;as=" + as + ";g=meta.k8s.io;v=v1,application/json"
}

// Resource is what is listed: its path, what selects, and what is accepted of it.
type Resource struct {
	Path   string
	Query  url.Values
	Accept string
}

// Turn waits for a turn to read one page, and returns what ends it.
type Turn func(context.Context) (func(), error)

// List reads all objects of a resource, page after page, and returns the resource version from which to watch. Each page waits for a turn,
// and ends it. An object is valid until each returns. With [ErrTooMany], as many were handed over as there may be.
func (c *Client) List(ctx context.Context, r Resource, turn Turn, each func([]byte) error) (string, error) {
	query, size := url.Values{}, c.bounds.PageItems
	maps.Copy(query, r.Query)
	left := c.bounds.Objects
	// A hostile server ends no list: empty pages count as pages.
	for range c.bounds.Objects/c.bounds.PageItems + extraPages {
		query.Set("limit", strconv.Itoa(size))
		answer, err := c.page(ctx, Resource{r.Path, query, r.Accept}, left, turn, each)
		if errors.Is(err, ErrTooLarge) && size > 1 {
			size = max(size/8, 1)
			continue
		}
		if err != nil {
			return "", err
		}
		left -= answer.Items
		if answer.Next == "" {
			return answer.Version, nil
		}
		query.Set("continue", answer.Next)
	}
	return "", ErrTooMany
}

func (c *Client) page(ctx context.Context, r Resource, left int, turn Turn, each func([]byte) error) (Page, error) {
	release, err := turn(ctx)
	if err != nil {
		return Page{}, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, c.bounds.Call)
	defer cancel()
	resp, err := c.Open(ctx, r.Path, r.Query, r.Accept)
	if err != nil {
		return Page{}, InTime(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := ReadPage(&Capped{Reader: resp.Body, Left: c.bounds.PageBytes}, left, each)
	return answer, InTime(ctx, err)
}

// ParseQuery returns a query whose values may hold an equals sign.
func ParseQuery(query string) url.Values {
	out := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		if key, value, found := strings.Cut(part, "="); found {
			out.Set(key, value)
		}
	}
	return out
}

// AnyTurn is for who does not wait for turns.
func AnyTurn(ctx context.Context) (func(), error) { return func() {}, ctx.Err() }
