package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Bounds where [Config] says nothing.
const (
	defaultTimeout   = 30 * time.Second
	defaultMaxAnswer = 32 << 20
)

// Config is what a client is made of. Connection is required.
type Config struct {
	Connection

	// Token returns what proves who calls; it is asked for every try, and may return an empty one. Nil when the caller is not signed in.
	Token func(context.Context) (string, error)
	// UserAgent is the calling program: "kqueen/v1.2.3".
	UserAgent string
	// Timeout bounds one try of a call, from the connection to the last byte of the answer; zero is 30 s.
	Timeout time.Duration
	// MaxAnswer is how many bytes an answer may have; zero is 32 MiB.
	MaxAnswer int64
}

// Client calls one installation of KQueen. Make it with New. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
	wait   func(context.Context, time.Duration) error
}

// New returns a client. It makes no call. The error names the field that is wrong.
func New(c Config) (*Client, error) {
	base, transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxAnswer == 0 {
		c.MaxAnswer = defaultMaxAnswer
	}
	return &Client{config: c, base: base, wait: pause, http: &http.Client{
		Transport: transport,
		// What was sent to one place, the token before all, is not for another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends the connections that are not used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one call.
type Request struct {
	Method string
	// Path begins with a slash and is already escaped: "/api/v1/clusters".
	Path  string
	Query url.Values
	// Body is sent as JSON, and url.Values as a form; nil for none.
	Body any
	// Header is sent beside what every call sends, and before it where both say something.
	Header http.Header
}

// Call makes a call and decodes the JSON of its answer into out, unless that is nil. An answer that says no is a
// *Problem, and a server that is not the right one a *PinError.
//
// A call that may be made twice (GET, HEAD, PUT, DELETE) is tried up to four times, when the connection fails
// or the server says, by 429 or 503 with Retry-After, when to come again. ctx bounds all of it.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	answer, err := c.tried(ctx, r)
	if err != nil {
		return err
	}
	return answer.decode(out)
}

// tried makes a call as Call does, and returns what came back, whatever its status.
func (c *Client) tried(ctx context.Context, r Request) (*answer, error) {
	body, err := encode(r.Body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	for try := 1; ; try++ {
		answer, err := c.once(ctx, r, body)
		after, again := decide(ctx, r.Method, try, answer, err)
		if !again {
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
			}
			return answer, nil
		}
		if err := c.wait(ctx, after); err != nil {
			return nil, fmt.Errorf("%s %s: wait to try again: %w", r.Method, r.Path, err)
		}
	}
}

// encode returns what is sent; nothing for nil.
func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case url.Values:
		return []byte(b.Encode()), nil
	}
	return json.Marshal(body)
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// once is one try.
func (c *Client) once(ctx context.Context, r Request, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	req, err := c.request(ctx, r, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if refused := refusal(err); refused != nil {
			return nil, refused
		}
		if c.base.Scheme == "http" && errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err // nothing listens on the local socket
		}
		return nil, &connectionError{err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.config.MaxAnswer+1))
	if err != nil {
		return nil, &connectionError{fmt.Errorf("read the answer: %w", err)}
	}
	if int64(len(data)) > c.config.MaxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d bytes; ask for less, by a filter or a limit", c.config.MaxAnswer)
	}
	return &answer{resp.StatusCode, resp.Header, data}, nil
}

// refusal returns the error of a server that is not trusted, which no other try changes; nil for other errors.
func refusal(err error) error {
	if changed, ok := errors.AsType[*PinError](err); ok {
		return changed
	}
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return refused
	}
	return nil
}

func (c *Client) request(ctx context.Context, r Request, body []byte) (*http.Request, error) {
	target, err := c.base.Parse(strings.TrimSuffix(c.base.EscapedPath(), "/") + r.Path)
	if err != nil || !strings.HasPrefix(r.Path, "/") || target.Host != c.base.Host || target.Scheme != c.base.Scheme {
		return nil, fmt.Errorf("path: %q: must begin with one slash and be escaped", r.Path)
	}
	target.RawQuery = r.Query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, "+mediaProblem)
	req.Header.Set("User-Agent", c.config.UserAgent)
	req.Header.Set(headerRequest, rand.Text())
	if _, form := r.Body.(url.Values); form {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if c.config.Token == nil {
		return req, nil
	}
	token, err := c.config.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a token: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// decode makes an error of an answer that says no, and reads the others.
func (a *answer) decode(out any) error {
	switch {
	case a.status >= http.StatusBadRequest:
		return problemOf(a.status, a.header, a.body)
	case a.status >= http.StatusMultipleChoices:
		return fmt.Errorf("the server sends the call to %q, which is not followed; is its URL right?", cut(a.header.Get("Location"), longestPlain))
	case out == nil:
		return nil
	case len(a.body) == 0:
		return errors.New("the server answers nothing, and not as KQueen does; is its URL right?")
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
		return fmt.Errorf("the server answers with %q, and not as KQueen does; is its URL right? (%w)", cut(media, longestPlain), err)
	}
	return nil
}
