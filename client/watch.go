package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// quietest is how long a stream may say nothing. The server sends a comment every 15 seconds.
const quietest = time.Minute

// Watch is a stream of what changes in a collection. It is for one goroutine; only Close may be called beside.
type Watch struct {
	client  *Client
	request Request
	ctx     context.Context
	cancel  context.CancelFunc
	// last is the revision to go on from. Until there is one, a stream that breaks cannot be resumed.
	last string

	body    io.Closer
	events  *eventReader
	watcher *time.Timer
	failed  int // tries in a row
}

// WatchObjects says what changes in a collection from a revision on, which a watch or an object gave; without one it says
// first what is there, as added, and then a bookmark. Of the query, paging and order mean nothing. It answers once the server has taken the request. A stream that
// breaks is resumed where it ended, up to three times in a row; ctx bounds it.
//
// A revision that is too old is a *Problem with the code [rest.CodeGone]: watch without one.
func (c *Client) WatchObjects(ctx context.Context, in Collection, q ObjectQuery, after string) (*Watch, error) {
	_, path, err := objectPath(in, in.listVerb(), "")
	if err != nil {
		return nil, err
	}
	query := q.query()
	query.Set("watch", "true")
	w := &Watch{client: c, last: after, request: Request{Method: http.MethodGet, Path: rest.Prefix + path, Query: query}}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if err := w.connect(); err != nil {
		w.cancel()
		return nil, fmt.Errorf("GET %s: %w", w.request.Path, err)
	}
	return w, nil
}

// Close ends the watch.
func (w *Watch) Close() { w.cancel() }

// Next returns the next event. Its error is final.
func (w *Watch) Next() (*rest.Event, error) {
	for {
		event, err := w.next()
		if err == nil {
			w.failed = 0
			return event, nil
		}
		w.disconnect()
		if refused, ok := errors.AsType[*Problem](err); ok && !refused.Retryable || w.ctx.Err() != nil || w.last == "" {
			w.cancel()
			return nil, fmt.Errorf("watch: %w", err)
		}
		if err := w.resume(err); err != nil {
			w.cancel()
			return nil, fmt.Errorf("watch: %w", err)
		}
	}
}

// resume connects again, after a pause that grows.
func (w *Watch) resume(cause error) error {
	for w.failed++; w.failed < mostTries; w.failed++ {
		if err := w.client.wait(w.ctx, firstBackoff<<w.failed); err != nil {
			return err
		}
		err := w.connect()
		refused, ok := errors.AsType[*Problem](err)
		if err == nil || ok && !refused.Retryable {
			return err
		}
		cause = err
	}
	return cause
}

// connect sends the request, and returns when the server has taken it.
func (w *Watch) connect() error {
	ctx, cancel := context.WithCancel(w.ctx)
	watcher := time.AfterFunc(w.client.config.Timeout, cancel)
	failed := func(err error) error {
		watcher.Stop()
		cancel()
		return err
	}
	req, err := w.client.request(ctx, w.request, nil)
	if err != nil {
		return failed(err)
	}
	req.Header.Set("Accept", "text/event-stream, "+mediaProblem)
	if w.last != "" {
		req.Header.Set("Last-Event-ID", w.last)
	}
	resp, err := w.client.http.Do(req)
	if err != nil {
		if refused := refusal(err); refused != nil {
			err = refused
		}
		return failed(err)
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || media != "text/event-stream" {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what cannot be read cannot be shown
		err := (&answer{resp.StatusCode, resp.Header, body}).decode(nil)
		if err == nil {
			err = fmt.Errorf("the server answers with %q and not with events", cut(media, longestPlain))
		}
		return failed(err)
	}
	w.watcher = watcher
	w.watcher.Reset(quietest)
	w.body = closer{resp.Body, cancel}
	w.events = newEventReader(resp.Body, func() { w.watcher.Reset(quietest) })
	return nil
}

// closer ends a request with its answer.
type closer struct {
	io.Closer

	cancel context.CancelFunc
}

// Close implements io.Closer.
func (c closer) Close() error {
	c.cancel()
	return c.Closer.Close()
}

func (w *Watch) disconnect() {
	w.watcher.Stop()
	_ = w.body.Close() // nothing was written
}

// next returns the next event of this connection.
func (w *Watch) next() (*rest.Event, error) {
	for {
		sent, err := w.events.next()
		if err != nil {
			return nil, err
		}
		if sent.name == "problem" {
			header := http.Header{"Content-Type": {mediaProblem}}
			p := problemOf(0, header, sent.data)
			var said struct{ Status int }
			_ = json.Unmarshal(sent.data, &said) // a problem without a status is one too
			p.Status = said.Status
			return nil, p
		}
		event, err := decodeEvent(sent)
		if err != nil {
			return nil, err
		}
		if event == nil {
			continue
		}
		// What a watch says first comes in no order, so that it cannot be resumed there.
		if w.last != "" || event.Type == rest.EventBookmark {
			w.last = event.Revision
		}
		return event, nil
	}
}

// decodeEvent reads an event of a watch. One of a type that is not known is nil: there may be others one day.
func decodeEvent(sent sentEvent) (*rest.Event, error) {
	e := &rest.Event{}
	switch sent.name {
	case rest.EventAdded, rest.EventModified, rest.EventDeleted, rest.EventBookmark:
	default:
		return nil, nil
	}
	if err := json.Unmarshal(sent.data, e); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	if e.Type != sent.name || e.Revision == "" || (e.Object == nil) != (e.Type == rest.EventBookmark) {
		return nil, fmt.Errorf("read an event: %q is not whole", sent.name)
	}
	return e, nil
}
