package collector

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	errExpired   = errors.New("the resource version has expired")
	errForbidden = errors.New("may not be read with KQueen's credential (403)")
	errAbsent    = errors.New("not in this cluster (404)")
	errTooLarge  = errors.New("answered more bytes than KQueen reads")
	errTooMany   = errors.New("has more objects than KQueen looks at")
)

// errorBytes is how much of an answer that is an error is read.
const errorBytes = 4 << 10

// source speaks to one API server within limits. It is safe for concurrent use.
type source struct {
	host   *url.URL
	http   *http.Client
	close  func()
	limits Limits
}

// newSource makes the connections of a cluster. What a kubeconfig could have KQueen run or read from this host is refused: it is not ours.
func newSource(config *rest.Config, limits Limits) (*source, error) {
	if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" {
		return nil, errors.New("the kubeconfig names a program or a file for its credential; it must hold it")
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	base, done := config.Transport, func() {}
	if base == nil {
		// A transport of its own: client-go keeps one for as long as the program runs, for every credential that there ever was.
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			return nil, fmt.Errorf("read the keys of the kubeconfig: %w", err)
		}
		own := &http.Transport{
			TLSClientConfig: tls, DialContext: config.Dial, Proxy: config.Proxy, ForceAttemptHTTP2: true,
			MaxConnsPerHost: limits.Connections, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: limits.Call, ResponseHeaderTimeout: limits.Call, MaxResponseHeaderBytes: 64 << 10,
			// A peer that vanished without a word is noticed on connections that only bring watches, too.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		}
		base, done = own, own.CloseIdleConnections
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, base)
	if err != nil {
		return nil, fmt.Errorf("read the credential of the kubeconfig: %w", err)
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &source{host: host, http: &http.Client{Transport: wrapped, CheckRedirect: refuse}, close: done, limits: limits}, nil
}

// open makes one call. The caller closes the body; the context bounds both.
func (s *source) open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	to := s.host.JoinPath(path)
	to.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", path, err)
	}
	req.Header.Set("Accept", accept)
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusForbidden:
		return nil, errForbidden
	case http.StatusNotFound:
		return nil, errAbsent
	case http.StatusGone:
		return nil, errExpired
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

// inTime says of a call that failed because its time was up that this is why: a connection that is closed under it has other words for it.
func inTime(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

const (
	acceptJSON = "application/json"
	// acceptMeta asks for metadata alone; a server that does not know it answers in full.
	acceptMeta = "application/json;as=%s;g=meta.k8s.io;v=v1,application/json"
)

// get reads a small answer whole. It returns the certificate that the API server showed, nil without TLS.
func (s *source) get(ctx context.Context, path string, read func(io.Reader) error, most int64) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Call)
	defer cancel()
	resp, err := s.open(ctx, path, nil, "application/json, text/plain")
	if err != nil {
		return nil, inTime(ctx, err)
	}
	defer resp.Body.Close()
	var shown *x509.Certificate
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		shown = resp.TLS.PeerCertificates[0]
	}
	return shown, inTime(ctx, read(&capped{r: resp.Body, left: most}))
}

// list reads all objects of a resource, page after page, and returns the resource version from which to watch. turn bounds how many pages are
// read at once by all clusters: each page waits for it, and ends it.
func (s *source) list(ctx context.Context, r *resourceKind, turn func(context.Context) (func(), error), each func([]byte) error) (string, error) {
	query, size := parsed(r.query), s.limits.PageItems
	objects := 0
	// A hostile server ends no list: empty pages count as pages.
	for range s.limits.Objects/s.limits.PageItems + extraPages {
		query.Set("limit", strconv.Itoa(size))
		answer, err := s.page(ctx, r, query, turn, each)
		if errors.Is(err, errTooLarge) && size > 1 {
			size = max(size/8, 1)
			continue
		}
		if err != nil {
			return "", err
		}
		if objects += answer.items; objects > s.limits.Objects {
			return "", errTooMany
		}
		if answer.next == "" {
			return answer.version, nil
		}
		query.Set("continue", answer.next)
	}
	return "", errTooMany
}

// extraPages are those that a list may have beside full ones: API servers cut pages short, and large ones are asked for in smaller ones.
const extraPages = 512

func (s *source) page(ctx context.Context, r *resourceKind, query url.Values, turn func(context.Context) (func(), error), each func([]byte) error) (page, error) {
	release, err := turn(ctx)
	if err != nil {
		return page{}, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, s.limits.Call)
	defer cancel()
	resp, err := s.open(ctx, r.path, query, r.accept("PartialObjectMetadataList"))
	if err != nil {
		return page{}, inTime(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := readPage(&capped{r: resp.Body, left: s.limits.PageBytes}, s.limits.Objects, each)
	return answer, inTime(ctx, err)
}

// frame is one event of a watch.
type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Types of frames.
const (
	added, modified, deleted = "ADDED", "MODIFIED", "DELETED"
	bookmark, failed         = "BOOKMARK", "ERROR"
)

// watch follows a resource from a version until the server ends the watch, which is no error, nothing has come for the idle time, which
// is none either, or the context ends. It returns the version to go on from. opened is called when the server has taken the watch, and each is
// handed all frames but errors.
func (s *source) watch(ctx context.Context, r *resourceKind, version string, opened func(), each func(context.Context, frame) error) (string, error) {
	query := parsed(r.query)
	query.Set("watch", "true")
	query.Set("resourceVersion", version)
	query.Set("allowWatchBookmarks", "true")
	// Not all at once: what is asked for is spread over as much again.
	query.Set("timeoutSeconds", strconv.Itoa(int((s.limits.Watch+rand.N(s.limits.Watch)).Seconds())+1)) //nolint:gosec // spreads load
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.limits.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	resp, err := s.open(ctx, r.path, query, r.accept("PartialObjectMetadata"))
	if err != nil {
		return version, unlessIdle(ctx, err)
	}
	defer resp.Body.Close()
	opened()
	body := &capped{r: resp.Body}
	for decoder := json.NewDecoder(body); ; {
		body.left = s.limits.ObjectBytes
		var f frame
		if err := decoder.Decode(&f); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return version, nil
		} else if err != nil {
			return version, unlessIdle(ctx, fmt.Errorf("read watch: %w", err))
		}
		idle.Stop() // the store may be slow: that is not the cluster's fault
		if f.Type == failed {
			return version, failure(f.Object)
		}
		var o object
		if err := json.Unmarshal(f.Object, &o); err != nil {
			return version, fmt.Errorf("read watch: %w", err)
		}
		if err := each(ctx, f); err != nil {
			return version, err
		}
		if o.Meta.ResourceVersion != "" {
			version = o.Meta.ResourceVersion
		}
		idle.Reset(s.limits.Idle)
	}
}

// errIdle ends a watch that brings nothing.
var errIdle = errors.New("nothing came by the watch")

func unlessIdle(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) {
		return nil
	}
	return err
}

// failure is the error that ended a watch.
func failure(object []byte) error {
	var status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(object, &status); err != nil {
		return fmt.Errorf("read the error of a watch: %w", err)
	}
	if status.Code == http.StatusGone {
		return errExpired
	}
	return fmt.Errorf("ended the watch with %d: %s", status.Code, text.Cut(text.Line(status.Message), maxMessage))
}

// parsed returns a query; its values may hold an equals sign.
func parsed(query string) url.Values {
	out := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		if key, value, found := strings.Cut(part, "="); found {
			out.Set(key, value)
		}
	}
	return out
}

// capped reads so many bytes and fails at the next one.
type capped struct {
	r    io.Reader
	left int64
}

// Read implements [io.Reader].
func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
