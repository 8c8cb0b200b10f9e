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

// watchObjects sends what is there and what changes, until the caller goes away or may not see it any more.
func (c collection) watchObjects(ctx context.Context, w http.ResponseWriter, in *listInput) error {
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	defer cancel()
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return err
	}
	if err := c.may(ctx, "watch", namespace); err != nil {
		return err
	}
	wanted, err := in.matcher()
	if err != nil {
		return err
	}
	list, options := c.list(), &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: in.LastEventID, AllowWatchBookmarks: true}}
	if in.Selector != "" {
		if options.LabelSelector, err = labels.Parse(in.Selector); err != nil {
			return explain(err)
		}
	}
	end, err := c.streams.begin(requestOf(ctx))
	if err != nil {
		return err
	}
	defer end()
	source, err := c.Callers.Watch(ctx, list, options)
	if err != nil {
		return explain(err)
	}
	defer source.Stop()
	return c.stream(ctx, newEvents(w), source, wanted, namespace)
}

func (c collection) stream(ctx context.Context, out *events, source watch.Interface, wanted func(client.Object) bool, namespace string) error {
	out.begin()
	beat, check := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer beat.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.closing:
			return nil
		case <-beat.C:
			if err := out.comment("alive"); err != nil {
				return nil // the caller has gone away
			}
		case <-check.C:
			if c.recheck(ctx) != nil || c.may(ctx, "watch", namespace) != nil {
				return out.problem(newProblem(http.StatusUnauthorized, rest.CodeUnauthenticated, "you may not see this any more"))
			}
		case event, ok := <-source.ResultChan():
			if !ok {
				return nil
			}
			if event.Type == watch.Error {
				return out.problem(explained(apierrors.FromObject(event.Object)))
			}
			if err := c.send(out, event, wanted); err != nil {
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

func (c collection) send(out *events, event watch.Event, wanted func(client.Object) bool) error {
	o, ok := event.Object.(client.Object)
	if !ok {
		return nil
	}
	names := map[watch.EventType]string{
		watch.Added: rest.EventAdded, watch.Modified: rest.EventModified, watch.Deleted: rest.EventDeleted, watch.Bookmark: rest.EventBookmark,
	}
	e := rest.Event{Type: names[event.Type], Revision: o.GetResourceVersion()}
	if event.Type != watch.Bookmark {
		if !wanted(o) {
			return nil
		}
		object, err := toRest(c.kind, o)
		if err != nil {
			return err
		}
		e.Object = &object
	}
	return out.event(e.Type, e.Revision, e)
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

func (e *events) event(name, id string, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return e.write(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", name, id, encoded))
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
