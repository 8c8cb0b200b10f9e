package connection

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// TestEverything: all pages are read, and a list that never ends is none.
func TestEverything(t *testing.T) {
	away := errors.New("away")
	cases := map[string]struct {
		pages []rest.Page[string]
		want  []string
		err   string
	}{
		"none":         {pages: []rest.Page[string]{{}}, want: []string{}},
		"two":          {pages: []rest.Page[string]{{Items: []string{"a"}, Cursor: "1"}, {Items: []string{"b"}}}, want: []string{"a", "b"}},
		"away":         {pages: []rest.Page[string]{{Items: []string{"a"}, Cursor: "1"}}, err: "away"},
		"does not end": {pages: []rest.Page[string]{{Items: []string{"a"}, Cursor: "1"}, {Items: []string{"a"}, Cursor: "1"}}, err: "the list does not end after 2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Everything(t.Context(), func(_ context.Context, from client.Paging) (*rest.Page[string], error) {
				if len(c.pages) == 0 {
					return nil, away
				}
				page := c.pages[0]
				c.pages = c.pages[1:]
				return &page, nil
			})
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" || text != c.err {
				t.Errorf("got %q, want %q (-want +got):\n%s", text, c.err, diff)
			}
		})
	}
}
