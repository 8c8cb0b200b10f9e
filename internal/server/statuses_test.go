package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/server/chain"
)

// answered are the statuses that the tests of this package have met, of which the document has to have each.
var answered = &statuses{missing: map[string]bool{}}

// statuses compares what is answered with the document.
type statuses struct {
	mu      sync.Mutex
	missing map[string]bool
}

// recorded hands requests on and notes with which status each operation was answered.
func (s *statuses) recorded(server *Server) http.Handler {
	patterns, operations := http.NewServeMux(), map[string]*huma.Operation{}
	for path, item := range server.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			pattern := o.Method + " " + path
			patterns.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
			operations[pattern] = o
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &chain.Answered{ResponseWriter: w}
		server.ServeHTTP(a, r)
		_, pattern := patterns.Handler(r)
		if o := operations[pattern]; o != nil && a.Status != 0 && o.Responses[strconv.Itoa(a.Status)] == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.missing[fmt.Sprintf("%s (%s): %d", pattern, o.OperationID, a.Status)] = true
		}
	})
}

func (s *statuses) undocumented() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.missing))
}

// TestStatusesOf: what an operation can answer follows from what it is.
func TestStatusesOf(t *testing.T) {
	always := "400 401 403 404 422 429 500 503"
	header := func(name string) []*huma.Param { return []*huma.Param{{In: "header", Name: name}} }
	tests := map[string]struct {
		o    huma.Operation
		more string
	}{
		"read":    {huma.Operation{Method: "GET"}, ""},
		"cached":  {huma.Operation{Method: "GET", Parameters: header("If-None-Match")}, "304"},
		"watched": {huma.Operation{Method: "GET", Parameters: header("Last-Event-ID")}, "410"},
		"created": {huma.Operation{Method: "POST", RequestBody: &huma.RequestBody{}}, "409 413 415"},
		"changed": {huma.Operation{Method: "PATCH", RequestBody: &huma.RequestBody{}, Parameters: header("If-Match")}, "409 412 413 415 428"},
		"deleted": {huma.Operation{Method: "DELETE", Parameters: header("If-Match")}, "409 412 428"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := strings.Fields(always + " " + tc.more)
			slices.Sort(want)
			var got []string
			for _, status := range statusesOf(&tc.o) {
				got = append(got, strconv.Itoa(status))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
