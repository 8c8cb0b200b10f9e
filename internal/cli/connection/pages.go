package connection

import (
	"context"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// Everything reads all pages of a list.
func Everything[T any](ctx context.Context, page func(context.Context, client.Paging) (*rest.Page[T], error)) ([]T, error) {
	all := []T{}
	for next := (client.Paging{Limit: 500}); ; {
		got, err := page(ctx, next)
		if err != nil {
			return nil, err
		}
		all = append(all, got.Items...)
		if got.Cursor == "" {
			return all, nil
		}
		next.Cursor = got.Cursor
	}
}
