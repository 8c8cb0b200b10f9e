package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
)

const (
	// heartbeat keeps proxies from taking a quiet stream for a dead one.
	heartbeat = 15 * time.Second
	// slowest is how long somebody may take to read what is sent. HTTP/2 ends a stream by it, whether something is
	// being sent or not, so that it has to be longer than a heartbeat.
	slowest = 3 * heartbeat
	// recheck is the time between two looks at whether the caller may still see what is sent.
	recheck = 5 * time.Second
	// streamLife bounds a stream; who wants more goes on with Last-Event-ID.
	streamLife = time.Hour
)

// view is what a caller follows, and how they see it.
type view struct {
	// source is watched for list with options.
	source  client.WithWatch
	list    client.ObjectList
	options client.ListOptions
	// after is the revision to go on from; empty to begin with what is there.
	after  string
	wanted func(client.Object) bool
	encode func(client.Object) (any, error)
	// still says whether the caller may go on to see it.
	still func(context.Context) error
}

// view is a view of the kind, with what the caller asks for.
func (c collection) view(in *listInput) (*view, error) {
	matches, err := in.matcher()
	if err != nil {
		return nil, err
	}
	v := &view{source: c.Callers, list: c.list(), after: in.LastEventID, wanted: matches, encode: func(o client.Object) (any, error) { return toRest(c.kind, o) }}
	if in.Selector != "" {
		if v.options.LabelSelector, err = labels.Parse(in.Selector); err != nil {
			return nil, explain(err)
		}
	}
	return v, nil
}

// watchObjects follows the collection of the path.
func (c collection) watchObjects(ctx context.Context, w http.ResponseWriter, in *listInput) error {
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return err
	}
	still := func(ctx context.Context) error { return c.may(ctx, "watch", namespace) }
	if err := still(ctx); err != nil {
		return err
	}
	v, err := c.view(in)
	if err != nil {
		return err
	}
	v.options.Namespace, v.still = namespace, still
	return c.follow(ctx, w, v)
}

// follow sends what is there and what changes, until the caller goes away or may not see it any more.
func (s *Server) follow(ctx context.Context, w http.ResponseWriter, v *view) error {
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	defer cancel()
	end, err := s.streams.begin(requestOf(ctx))
	if err != nil {
		return err
	}
	defer end()
	v.options.Raw = &metav1.ListOptions{ResourceVersion: v.after, AllowWatchBookmarks: true}
	if v.after == "" {
		v.options.Raw.SendInitialEvents, v.options.Raw.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
	}
	source, err := v.source.Watch(ctx, v.list, &v.options)
	if err != nil {
		return explain(err)
	}
	defer source.Stop()
	return s.stream(ctx, newEvents(w), source, v)
}

func (s *Server) stream(ctx context.Context, out *events, source watch.Interface, v *view) error {
	out.begin()
	beat, check := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return nil
		case <-beat.C:
			if err := out.comment("alive"); err != nil {
				return nil // the caller has gone away
			}
		case <-check.C:
			if s.recheck(ctx) != nil || v.still(ctx) != nil {
				return out.problem(newProblem(http.StatusUnauthorized, rest.CodeUnauthenticated, "you may not see this any more"))
			}
		case event, ok := <-source.ResultChan():
			if !ok {
				return nil
			}
			if event.Type == watch.Error {
				return out.problem(explained(apierrors.FromObject(event.Object)))
			}
			if err := v.send(out, event); err != nil {
				return nil // the caller has gone away
			}
		}
	}
}

// explained is explain for those who need a problem.
func explained(err error) *problem {
	err = explain(err)
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if h, ok := errors.AsType[*hidden](err); ok {
		return h.problem
	}
	return newProblem(http.StatusInternalServerError, rest.CodeInternal, "something went wrong inside; the server's log has the request id")
}

func (v *view) send(out *events, event watch.Event) error {
	o, ok := event.Object.(client.Object)
	if !ok {
		return nil
	}
	names := map[watch.EventType]string{
		watch.Added: rest.EventAdded, watch.Modified: rest.EventModified, watch.Deleted: rest.EventDeleted, watch.Bookmark: rest.EventBookmark,
	}
	// A rest.Event, of whatever is followed.
	e := struct {
		Type     string `json:"type"`
		Object   any    `json:"object,omitempty"`
		Revision string `json:"revision"`
	}{Type: names[event.Type], Revision: o.GetResourceVersion()}
	if event.Type != watch.Bookmark {
		if !v.wanted(o) {
			return nil
		}
		var err error
		if e.Object, err = v.encode(o); err != nil {
			return err
		}
	}
	// What is there at the beginning comes in no order of revisions: from one of them on, something would be missed.
	// A bookmark ends it.
	if event.Type == watch.Bookmark && v.after == "" {
		v.after = e.Revision
	}
	id := e.Revision
	if v.after == "" {
		id = ""
	}
	return out.event(e.Type, id, e)
}

// events writes server-sent events, as the HTML standard has them.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newEvents(w http.ResponseWriter) *events { return &events{w, http.NewResponseController(w)} }

// begin sends the headers, so that the caller knows that it may wait. A stream has no time by which it has to be over,
// as requests have.
func (e *events) begin() {
	_ = e.control.SetReadDeadline(time.Time{})
	_ = e.control.SetWriteDeadline(time.Now().Add(slowest))
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.Header().Set("Cache-Control", "no-store")
	e.w.WriteHeader(http.StatusOK)
	_ = e.control.Flush()
}

// event sends an event. One without an id leaves the reader with the last one that it has.
func (e *events) event(name, id string, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return e.write(fmt.Sprintf("event: %s\n%sdata: %s\n\n", name, id, encoded))
}

func (e *events) comment(text string) error { return e.write(": " + text + "\n\n") }

// problem is the last event of a stream that does not go on by itself.
func (e *events) problem(p *problem) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode a problem: %w", err)
	}
	_ = e.write(fmt.Sprintf("event: problem\ndata: %s\n\n", encoded))
	return nil
}

// write bounds how long one who does not read is waited for.
func (e *events) write(text string) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(slowest)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := e.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	return e.control.Flush()
}
