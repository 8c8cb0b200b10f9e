package collector_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// labelled are so many objects with labels of some hundred bytes, in JSON, from a number on.
func labelled(from, n int) []string {
	var items []string
	for i := from; i < from+n; i++ {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"n%d","uid":"u%d","resourceVersion":"9","labels":{"a":%q,"b":%q,"c":%q}}}`,
			i, i, strings.Repeat("x", 60), strings.Repeat("y", 60), strings.Repeat("z", 60)))
	}
	return items
}

// TestHostileBytes: what a cluster has at once costs a number of bytes, by lists and by watches. What is beyond is left out, the message says so,
// and all of it is seen when there is less.
func TestHostileBytes(t *testing.T) {
	const most = 20_000 // fewer than a hundred of those objects
	const message = "not observed: namespaces: with it the cluster has more bytes than KQueen keeps of one"
	for name, byWatch := range map[string]bool{"List": false, "Watch": true} {
		t.Run(name, func(t *testing.T) {
			var fewer atomic.Bool
			h := newHostile(t, "/api/v1/namespaces", func(w http.ResponseWriter, r *http.Request) {
				watch := r.URL.Query().Get("watch") == "true"
				switch {
				case !watch && (byWatch || fewer.Load()):
					fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, strings.Join(labelled(0, 3), ","))
					return
				case !watch:
					fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, strings.Join(labelled(0, 500), ","))
					return
				case byWatch && !fewer.Load():
					for _, object := range labelled(100, 500) {
						fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, object)
					}
				}
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			limits := quick()
			limits.Bytes = most
			c := collect(t, limits, h.config)
			c.put("bad", "bad")
			c.store.until(t, func() string { return cmp.Diff(message, c.store.message("bad")) })
			c.store.until(t, func() string { return missing(c.store, "bad") })
			if got := len(c.store.of("bad", inventory.KindNamespace)); got > 100 {
				t.Errorf("the store has %d namespaces", got)
			}
			fewer.Store(true)
			c.store.until(t, func() string { return cmp.Diff("", c.store.message("bad")) })
			c.store.until(t, func() string { return cmp.Diff(3, len(c.store.of("bad", inventory.KindNamespace))) })
		})
	}
}
