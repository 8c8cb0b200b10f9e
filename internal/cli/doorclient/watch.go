package doorclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

// glance is how long a watch lasts of what the door has no watch for: who follows lists again when a watch ends.
const glance = 5 * time.Second

// Watch implements client.WithWatch. A watch of what the door has no watch for ends after a moment.
func (c *doorClient) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	if _, ok := list.(*eventsv1.EventList); ok {
		return newPause(ctx, glance), nil
	}
	q, err := c.question(list, options)
	if err != nil {
		return nil, err
	}
	if q.nowhere || q.namespace != "" && q.in.Organization != "" && namespaceOf(&rest.Object{Kind: q.kind, Organization: q.in.Organization}) != q.namespace {
		return newPause(ctx, glance), nil
	}
	source, err := c.door.WatchObjects(ctx, q.in, kqueen.ObjectQuery{LabelSelector: q.labels, Name: q.name}, q.after)
	if err != nil {
		return nil, explain(err, q.kind, q.name)
	}
	return watch.NewStreamWatcher(&decoder{c: c, q: q, source: source}, reporter{}), nil
}

// decoder reads a watch of the door's as one of an API server.
type decoder struct {
	c      *doorClient
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

// pause is a watch that says nothing and ends.
type pause struct {
	once  sync.Once
	ended chan watch.Event
	stop  func()
}

func newPause(ctx context.Context, d time.Duration) watch.Interface {
	p := &pause{ended: make(chan watch.Event)}
	ctx, cancel := context.WithTimeout(ctx, d)
	p.stop = cancel
	context.AfterFunc(ctx, func() { p.once.Do(func() { close(p.ended) }) })
	return p
}

// Stop implements watch.Interface.
func (p *pause) Stop() { p.stop() }

// ResultChan implements watch.Interface.
func (p *pause) ResultChan() <-chan watch.Event { return p.ended }
