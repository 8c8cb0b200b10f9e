package objects

import (
	"context"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

// glance is how long a watch lasts of what the API has no watch for: the caller looks again when a watch ends.
const glance = 5 * time.Second

// Watch says what is in a set, ends that with a bookmark, and goes on with what changes.
type Watch interface {
	// Next returns the next event. Its error is final.
	Next() (Event, error)
	Close()
}

// Event is one of a watch; its type is [rest.EventAdded] or another one of those. A bookmark has no object.
type Event struct {
	Type   string
	Object client.Object
}

// Watch follows a set. A watch of what the API has no watch for, which is of events and of what all organizations share,
// says what is there, and ends after a moment.
func (c *Client) Watch(ctx context.Context, s Set) (Watch, error) {
	if s.Kind == eventKind || s.Shared {
		return c.look(ctx, s)
	}
	source, err := c.api.WatchObjects(ctx, s.collection(), s.query(), "")
	if err != nil {
		return nil, explain(err)
	}
	return &following{source, c, s}, nil
}

// following is a watch of the API's.
type following struct {
	*kqueen.Watch

	c *Client
	s Set
}

// Next implements Watch.
func (f *following) Next() (Event, error) {
	for {
		event, err := f.Watch.Next()
		switch {
		case err != nil:
			return Event{}, explain(err)
		case event.Type == rest.EventBookmark:
			return Event{Type: event.Type}, nil
		case f.s.wants(event.Object):
			o, err := f.c.typed(f.s.Kind, event.Object)
			return Event{event.Type, o}, err
		}
	}
}

// look lists, and returns a watch that says what was found and ends after a moment.
func (c *Client) look(ctx context.Context, s Set) (Watch, error) {
	found, err := c.List(ctx, s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	return &looked{found, false, ctx, cancel}, nil
}

// looked is a watch of what was found.
type looked struct {
	left  []client.Object
	whole bool
	ctx   context.Context
	stop  context.CancelFunc
}

// Next implements Watch.
func (l *looked) Next() (Event, error) {
	if len(l.left) > 0 {
		o := l.left[0]
		l.left = l.left[1:]
		return Event{rest.EventAdded, o}, nil
	}
	if !l.whole {
		l.whole = true
		return Event{Type: rest.EventBookmark}, nil
	}
	<-l.ctx.Done()
	return Event{}, io.EOF
}

// Close implements Watch.
func (l *looked) Close() { l.stop() }
