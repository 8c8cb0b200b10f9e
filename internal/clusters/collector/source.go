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
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/text"
)

// errTooMuch says why a resource is left out that would be too much for what is kept of its cluster in memory.
var errTooMuch = errors.New("with it the cluster has more bytes than KQueen keeps of one")

// source speaks to one API server within limits. It is safe for concurrent use.
type source struct {
	*listing.Client

	limits Limits
}

// newSource makes the connections of a cluster.
func newSource(config *rest.Config, l Limits) (*source, error) {
	client, err := listing.New(config, listing.Bounds{
		Call: l.Call, PageItems: l.PageItems, PageBytes: l.PageBytes, Objects: l.Objects, Connections: l.Connections,
	})
	if err != nil {
		return nil, err
	}
	return &source{Client: client, limits: l}, nil
}

// get reads a small answer whole. It returns the certificates by which the API server was believed, from its own to that of the authority; none
// without TLS.
func (s *source) get(ctx context.Context, path string, read func(io.Reader) error, most int64) ([]*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Call)
	defer cancel()
	resp, err := s.Open(ctx, path, nil, "application/json, text/plain")
	if err != nil {
		return nil, listing.InTime(ctx, err)
	}
	defer resp.Body.Close()
	var shown []*x509.Certificate
	if resp.TLS != nil && len(resp.TLS.VerifiedChains) > 0 {
		shown = resp.TLS.VerifiedChains[0]
	}
	return shown, listing.InTime(ctx, read(&listing.Capped{Reader: resp.Body, Left: most}))
}

// list reads all objects of a resource, page after page, and returns the resource version from which to watch. turn bounds how many pages are
// read at once by all clusters.
func (s *source) list(ctx context.Context, r *resourceKind, turn listing.Turn, each func([]byte) error) (string, error) {
	return s.List(ctx, listing.Resource{Path: r.path, Query: listing.ParseQuery(r.query), Accept: r.accept("PartialObjectMetadataList")}, turn, each)
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
	query := listing.ParseQuery(r.query)
	query.Set("watch", "true")
	query.Set("resourceVersion", version)
	query.Set("allowWatchBookmarks", "true")
	// Not all at once: what is asked for is spread over as much again.
	query.Set("timeoutSeconds", strconv.Itoa(int((s.limits.Watch+rand.N(s.limits.Watch)).Seconds())+1)) //nolint:gosec // spreads load
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.limits.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	resp, err := s.Open(ctx, r.path, query, r.accept("PartialObjectMetadata"))
	if err != nil {
		return version, unlessIdle(ctx, err)
	}
	defer resp.Body.Close()
	opened()
	body := &listing.Capped{Reader: resp.Body}
	for decoder := json.NewDecoder(body); ; {
		body.Left = s.limits.ObjectBytes
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
		return listing.ErrExpired
	}
	return fmt.Errorf("ended the watch with %d: %s", status.Code, text.Cut(text.Line(status.Message), maxMessage))
}
