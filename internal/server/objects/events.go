package objects

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// eventsAtOnce is how many events are read by one call, of which an organization may have very many.
const eventsAtOnce = 500

// events are what happened to objects.
type events struct {
	callers client.WithWatch
	rights  *rights.Rights
	cursors cursors
	feed    feed
}

func (h *events) register(api huma.API) {
	o := chain.Operation(http.MethodGet, "/organizations/{organization}/events", "listEvents", "List events, the newest first", "Events", watches(h.watchEvents))
	huma.Register(api, o, h.listEvents)
	api.OpenAPI().Paths[o.Path].Get.Responses["200"].Content["text/event-stream"] = eventStream()
}

// EventQuery says which events.
type EventQuery struct {
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"How many events at most."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Where to go on: the cursor of the page before, with the same other parameters."`
	Kind   string `query:"kind" maxLength:"64" doc:"Only events of objects of this kind, such as Cluster."`
	Name   string `query:"name" maxLength:"253" doc:"Only events of objects of this name."`
	Type   string `query:"type" enum:"Normal,Warning" doc:"Only events of this type."`
}

type eventsInput struct {
	chain.InOrganization
	EventQuery

	Watch       bool   `query:"watch" doc:"Answer with server-sent events: what is there, and from then on what happens."`
	FromNow     bool   `query:"fromNow" doc:"With watch: leave out what was before."`
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"With watch: the revision to go on from."`
}

// selector is the query as the API server takes it.
func (q EventQuery) selector() fields.Selector {
	set := fields.Set{}
	for name, value := range map[string]string{"regarding.kind": q.Kind, "regarding.name": q.Name, "type": q.Type} {
		if value != "" {
			set[name] = value
		}
	}
	return fields.SelectorFromSet(set)
}

// scope is what a cursor is good for.
func (q EventQuery) scope(caller, organization string) string {
	return strings.Join([]string{caller, "events/" + organization, q.Kind, q.Name, q.Type}, "\x00")
}

// listEvents reads as the caller. The API server has events in no order of time, so all of them are read, and only as
// many kept as the page holds.
func (h *events) listEvents(ctx context.Context, in *eventsInput) (*chain.Answer[rest.Page[rest.ObjectEvent]], error) {
	o, err := h.rights.Organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	scope := in.scope(chain.Of(ctx).Caller.Name, in.Organization)
	after, err := h.cursors.decode(scope, in.Cursor)
	if err != nil {
		return nil, err
	}
	page := newest{limit: in.Limit, after: after}
	for from := ""; ; {
		list := &eventsv1.EventList{}
		err := h.callers.List(ctx, list, &client.ListOptions{
			Namespace: o.OwnedNamespace(), FieldSelector: in.selector(), Limit: eventsAtOnce, Continue: from,
		})
		if err != nil {
			return nil, problem.Explain(err)
		}
		page.add(list.Items)
		if from = list.Continue; from == "" {
			break
		}
	}
	items, last := page.end()
	out := rest.Page[rest.ObjectEvent]{Items: items}
	if last != nil {
		if out.Cursor, err = h.cursors.encode(scope, *last); err != nil {
			return nil, problem.Explain(err)
		}
	}
	return &chain.Answer[rest.Page[rest.ObjectEvent]]{Body: out}, nil
}

// newest keeps the newest events behind a place.
type newest struct {
	limit int
	after *place
	kept  []placedEvent
}

type placedEvent struct {
	place
	event rest.ObjectEvent
}

func (n *newest) add(events []eventsv1.Event) {
	for i := range events {
		event := toEvent(&events[i])
		p := place{Created: event.LastSeenAt.UnixMicro(), Name: events[i].Name}
		if n.after == nil || p.compare(*n.after) < 0 {
			n.kept = append(n.kept, placedEvent{p, event})
		}
	}
	slices.SortFunc(n.kept, func(a, b placedEvent) int { return b.compare(a.place) })
	n.kept = n.kept[:min(len(n.kept), n.limit+1)] // one more, to know whether there is one
}

// end returns the page, and the place of its last event when more follow.
func (n *newest) end() (page []rest.ObjectEvent, last *place) {
	page = make([]rest.ObjectEvent, 0, n.limit)
	for _, k := range n.kept[:min(len(n.kept), n.limit)] {
		page = append(page, k.event)
	}
	if len(n.kept) > n.limit {
		last = &n.kept[n.limit-1].place
	}
	return page, last
}

// toEvent is an event as callers see it, whichever of the two forms it was written in. It is pure.
func toEvent(e *eventsv1.Event) rest.ObjectEvent {
	first, last, count := e.EventTime.Time, e.EventTime.Time, max(e.DeprecatedCount, 1)
	if first.IsZero() {
		first, last = e.DeprecatedFirstTimestamp.Time, e.DeprecatedLastTimestamp.Time
	}
	if e.Series != nil {
		last, count = e.Series.LastObservedTime.Time, e.Series.Count
	}
	if first.IsZero() {
		first = e.CreationTimestamp.Time
	}
	if last.Before(first) {
		last = first
	}
	reporter := e.ReportingController
	if reporter == "" {
		reporter = e.DeprecatedSource.Component
	}
	return rest.ObjectEvent{
		LastSeenAt: last.UTC(), FirstSeenAt: first.UTC(), Type: e.Type, Reason: e.Reason, Message: e.Note, Count: count, Reporter: reporter,
		Object: rest.ObjectReference{Kind: e.Regarding.Kind, Name: e.Regarding.Name, UID: string(e.Regarding.UID)},
	}
}

// watchEvents follows events as the caller.
func (h *events) watchEvents(humaCtx huma.Context, w http.ResponseWriter) error {
	ctx := humaCtx.Context()
	o, err := h.rights.Organization(ctx, chain.Of(ctx).Path("organization"))
	if err != nil {
		return err
	}
	after, err := lastEvent(humaCtx)
	if err != nil {
		return err
	}
	q := EventQuery{Kind: humaCtx.Query("kind"), Name: humaCtx.Query("name"), Type: humaCtx.Query("type")}
	still := func(ctx context.Context) error {
		return h.rights.Require(ctx, rights.Act{Group: eventsv1.GroupName, Verb: "watch", Resource: "events", Namespace: o.OwnedNamespace()})
	}
	if err := still(ctx); err != nil {
		return err
	}
	return h.feed.follow(ctx, w, &view{
		source: h.callers, list: &eventsv1.EventList{}, options: client.ListOptions{Namespace: o.OwnedNamespace(), FieldSelector: q.selector()},
		after: after, fromNow: humaCtx.Query("fromNow") == "true", wanted: func(client.Object) bool { return true }, still: still,
		encode: func(o client.Object) (any, error) { return toEvent(o.(*eventsv1.Event)), nil },
	})
}
