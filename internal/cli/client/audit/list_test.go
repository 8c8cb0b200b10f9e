package audit

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/exit"
)

// TestListReadsPages: as many records are asked for as are wanted, in pages that the server takes, and a log that does not
// end is none.
func TestListReadsPages(t *testing.T) {
	cases := map[string]struct {
		args  []string
		there int
		stuck bool
		asked []string // limit and cursor
		shown int
		want  string
	}{
		"two pages":       {[]string{"--limit", "700"}, 1000, false, []string{"500 ", "200 500"}, 700, ""},
		"fewer than that": {[]string{"--limit", "700"}, 600, false, []string{"500 ", "200 500"}, 600, ""},
		"none":            {nil, 0, false, []string{"100 "}, 0, ""},
		"does not end":    {[]string{"--limit", "700"}, 0, true, []string{"500 ", "500 same"}, 0, "read the audit log: the list does not end after 0 records"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []string
			data, _, err := run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				asked = append(asked, q.Get("limit")+" "+q.Get("cursor"))
				from, _ := strconv.Atoi(q.Get("cursor"))
				limit, _ := strconv.Atoi(q.Get("limit"))
				var items []string
				for n := from; n < min(from+limit, c.there); n++ {
					items = append(items, fmt.Sprintf(`{"sequence":%d,"actor":{"kind":"system"},"action":"a","object":{},"outcome":"succeeded"}`, n))
				}
				cursor := ""
				if from+limit < c.there {
					cursor = strconv.Itoa(from + limit)
				}
				if c.stuck {
					cursor = "same"
				}
				clitest.Say(w, http.StatusOK, clitest.JSON, fmt.Sprintf(`{"items":[%s],"cursor":%q}`, strings.Join(items, ","), cursor))
			}), nil, append([]string{"list"}, c.args...)...)
			wantError(t, exit.Failed, c.want, err)
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if shown := max(strings.Count(data, "\n")-1, 0); shown != c.shown {
				t.Errorf("%d records are shown, want %d", shown, c.shown)
			}
		})
	}
}
