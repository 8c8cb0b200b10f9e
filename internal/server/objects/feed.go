package objects

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// view is what a caller follows, and how they see it.
type view struct {
	// source is watched for list with options.
	source  client.WithWatch
	list    client.ObjectList
	options client.ListOptions
	// after is the revision to go on from; empty to begin with what is there.
	after string
	// fromNow leaves out what is there, where after is empty.
	fromNow bool
	wanted  func(client.Object) bool
	encode  func(client.Object) (any, error)
	// still says whether the caller may go on to see it.
	still func(context.Context) error
}

// feed sends to callers what changes.
type feed struct{ streams *chain.Streams }

// follow sends what is there and what changes, until the caller goes away or may not see it any more.
func (f feed) follow(ctx context.Context, w http.ResponseWriter, v *view) error {
	ctx, cancel := context.WithTimeout(ctx, chain.StreamLife)
	defer cancel()
	end, err := f.streams.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if v.fromNow && v.after == "" {
		if v.after, err = v.now(ctx); err != nil {
			return err
		}
	}
	v.options.Raw = &metav1.ListOptions{ResourceVersion: v.after, AllowWatchBookmarks: true}
	if v.after == "" {
		v.options.Raw.SendInitialEvents, v.options.Raw.ResourceVersionMatch = ptr.To(true), metav1.ResourceVersionMatchNotOlderThan
	}
	source, err := v.source.Watch(ctx, v.list, &v.options)
	if err != nil {
		return problem.Explain(err)
	}
	defer source.Stop()
	return f.stream(ctx, newSSE(w), source, v, &leave{given: time.Now(), ask: func(ctx context.Context) error {
		if err := f.streams.Recheck(ctx); err != nil {
			return err
		}
		return v.still(ctx)
	}})
}

// now is the present revision of what is followed.
func (v *view) now(ctx context.Context) (string, error) {
	options, list := v.options, v.list.DeepCopyObject().(client.ObjectList)
	options.Limit = 1
	if err := v.source.List(ctx, list, &options); err != nil {
		return "", problem.Explain(err)
	}
	return list.GetResourceVersion(), nil
}

func (f feed) stream(ctx context.Context, out *sse, source watch.Interface, v *view, l *leave) error {
	out.begin()
	beat, check := time.NewTicker(chain.Heartbeat), time.NewTimer(l.again())
	defer beat.Stop()
	defer check.Stop()
	for {
		events := source.ResultChan()
		if l.held {
			events = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.streams.Closing():
			return nil
		case <-beat.C:
			if err := out.comment("alive"); err != nil {
				return nil // the caller has gone away
			}
		case <-check.C:
			if end := l.renew(ctx); end != nil {
				return out.fail(end)
			}
			check.Reset(l.again())
		case event, ok := <-events:
			if !ok {
				return nil
			}
			if event.Type == watch.Error {
				return out.fail(problem.Of(apierrors.FromObject(event.Object)))
			}
			if err := v.send(out, event); err != nil {
				return nil // the caller has gone away
			}
		}
	}
}

func (v *view) send(out *sse, event watch.Event) error {
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
