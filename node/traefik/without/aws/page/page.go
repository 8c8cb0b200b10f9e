// Package page has answers in pages, of which there is none.
package page

import (
	"context"
	"errors"
)

// None is the list of the pages of type T.
type None[T any] struct{}

// HasMorePages is false.
func (None[T]) HasMorePages() bool { return false }

// NextPage fails.
func (None[T]) NextPage(context.Context) (*T, error) { return nil, errors.ErrUnsupported }
