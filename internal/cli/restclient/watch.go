package restclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

// glance is how long a watch lasts of what the API has no watch for: the caller looks again when a watch ends.
const glance = 5 * time.Second

// Watch implements client.WithWatch. It says first what is there, whatever the options say of that, and ends it with a
// bookmark. A watch of what the API has no watch for says what is there, and ends after a moment.
func (c *restClient) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	if _, ok := list.(*eventsv1.EventList); ok {
		return c.look(ctx, list, options)
	}
	q, err := c.question(list, options)
	if err != nil {
		return nil, err
	}
	if q.nowhere || q.namespace != "" && q.in.Organization != "" && namespaceOf(&rest.Object{Kind: q.kind, Organization: q.in.Organization}) != q.namespace {
		return c.look(ctx, list, options)
	}
	source, err := c.api.WatchObjects(ctx, q.in, kqueen.ObjectQuery{LabelSelector: q.labels, Name: q.name}, "")
	if err != nil {
		return nil, explain(err, q.kind, q.name)
	}
	return watch.NewStreamWatcher(&decoder{c: c, q: q, source: source}, reporter{}), nil
}

// decoder reads a watch of the REST API as one of an API server.
type decoder struct {
	c      *restClient
	q      question
	source *kqueen.Watch
	ended  bool
}

// Decode implements watch.Decoder. Why a watch ends is its last event.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	names := map[string]watch.EventType{rest.EventAdded: watch.Added, rest.EventModified: watch.Modified, rest.EventDeleted: watch.Deleted}
	for !d.ended {
		event, err := d.source.Next()
		if err != nil {
			d.ended = true
			return watch.Error, reporter{}.AsObject(explain(err, d.q.kind, d.q.name)), nil
		}
		if event.Type == rest.EventBookmark {
			o, err := d.c.empty(d.q.kind)
			return watch.Bookmark, o, err
		}
		name, known := names[event.Type]
		if !known || !d.q.wants(event.Object) {
			continue
		}
		o, err := d.c.empty(d.q.kind)
		if err == nil {
			err = fill(event.Object, o)
		}
		return name, o, err
	}
	return "", nil, io.EOF
}

// Close implements watch.Decoder.
func (d *decoder) Close() { d.source.Close() }

// reporter writes errors as an API server does.
type reporter struct{}

// AsObject implements watch.Reporter.
func (reporter) AsObject(err error) runtime.Object {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		said := status.Status()
		return &said
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
}

// look lists, and returns a watch that says what was found and ends after a moment.
func (c *restClient) look(ctx context.Context, list client.ObjectList, options []client.ListOption) (watch.Interface, error) {
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	found, err := apimeta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	events := make(chan watch.Event, len(found)+1)
	for _, o := range found {
		events <- watch.Event{Type: watch.Added, Object: o}
	}
	events <- watch.Event{Type: watch.Bookmark, Object: &metav1.PartialObjectMetadata{}}
	ctx, cancel := context.WithTimeout(ctx, glance)
	context.AfterFunc(ctx, func() { close(events) })
	return &looked{events, cancel}, nil
}

// looked is a watch of what was found.
type looked struct {
	events chan watch.Event
	stop   func()
}

// Stop implements watch.Interface.
func (l *looked) Stop() { l.stop() }

// ResultChan implements watch.Interface.
func (l *looked) ResultChan() <-chan watch.Event { return l.events }
