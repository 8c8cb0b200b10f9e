package fleet

import (
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
)

// How many exports there are at once, because each takes memory until it is sent: of one caller, and in all.
const (
	exportsOfOne = 2
	exportsOfAll = 6
)

// exports counts those that are under way. It is safe for concurrent use; the zero value is ready.
type exports struct {
	mu  sync.Mutex
	of  map[string]int
	all int
}

// begin counts an export until the life of its request ends, with which the answer has been sent or the client has gone.
func (e *exports) begin(ctx context.Context, caller string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all >= exportsOfAll || e.of[caller] >= exportsOfOne {
		busy := problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many exports are under way; come again in a moment, or read pages of JSON")
		return huma.ErrorWithHeaders(busy, http.Header{"Retry-After": {"2"}})
	}
	if e.of == nil {
		e.of = map[string]int{}
	}
	e.all++
	e.of[caller]++
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all--
		if e.of[caller]--; e.of[caller] == 0 {
			delete(e.of, caller)
		}
	})
	return nil
}
