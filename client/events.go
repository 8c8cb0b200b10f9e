package client

import (
	"context"

	"kqueen.io/kqueen/api/rest"
)

// EventFilter says which events are wanted. Empty fields take all.
type EventFilter struct {
	Paging

	// Kind and Name are those of the object that something happened to.
	Kind, Name string
	// Type is Normal or Warning.
	Type string
}

// ListEvents returns a page of what happened in an organization lately, the newest first (operation listEvents).
func (c *Client) ListEvents(ctx context.Context, organization string, filter EventFilter) (*rest.Page[rest.ObjectEvent], error) {
	query := filter.query()
	for name, value := range map[string]string{"kind": filter.Kind, "name": filter.Name, "type": filter.Type} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return called[rest.Page[rest.ObjectEvent]](ctx, c, "listEvents", query, nil, organization)
}
