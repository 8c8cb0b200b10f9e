package connection

import (
	"context"
	"fmt"

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
		switch got.Cursor {
		case "":
			return all, nil
		case next.Cursor: // it would be asked for again and again
			return nil, fmt.Errorf("the list does not end after %d", len(all))
		}
		next.Cursor = got.Cursor
	}
}
