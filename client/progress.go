package client

import (
	"context"

	"kqueen.io/kqueen/api/rest"
)

// OperationFilter says which operations are wanted. Empty fields take all.
type OperationFilter struct {
	Paging

	// Kind is one of [rest.KindsOfOperations], and Cluster the name of the cluster that the work is on.
	Kind, Cluster string
	// State is running, retrying or stalled.
	State string
}

// ListOperations returns a page of what is being done in an organization now, what began last first (operation
// listOperations).
func (c *Client) ListOperations(ctx context.Context, organization string, filter OperationFilter) (*rest.Page[rest.Operation], error) {
	query := filter.query()
	for name, value := range map[string]string{"kind": filter.Kind, "cluster": filter.Cluster, "state": filter.State} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return called[rest.Page[rest.Operation]](ctx, c, "listOperations", query, nil, organization)
}
