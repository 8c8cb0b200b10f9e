package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// run gives a command to a server that answers so, and returns data, words and the error.
func run(t *testing.T, answers http.Handler, stdin string, args ...string) (data, words string, err error) {
	t.Helper()
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, answers))
	t.Setenv(connection.OrganizationVariable, "blue")
	var out, said bytes.Buffer
	e := connection.New(strings.NewReader(stdin), &out, &said)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(NewCommand(e))
	root.SetArgs(append([]string{"inventory"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), said.String(), err
}

// TestPages: as many rows are asked for as are wanted, in pages that the server takes, and a list that does not end is none.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		there int
		stuck bool
		asked []string // limit and cursor
		shown int
		words string
		want  string
	}{
		"two pages": {[]string{"images", "--limit", "700"}, 1000, false, []string{"500 ", "200 500"}, 700, "only the first 700 rows are shown", ""},
		"all":       {[]string{"images", "--limit", "700"}, 600, false, []string{"500 ", "200 500"}, 600, "", ""},
		"just all":  {[]string{"images", "--limit", "500"}, 500, false, []string{"500 "}, 500, "", ""},
		"none":      {[]string{"images"}, 0, false, []string{"500 "}, 0, "no such cluster is known in organization blue", ""},
		"no end":    {[]string{"images", "--limit", "700"}, 0, true, []string{"500 ", "500 same"}, 0, "", "list images: the list does not end after 0 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			data, words, err := run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if r.URL.Path != "/api/v1/inventory/images" || q.Get("organization") != "blue" {
					t.Errorf("called %s", r.URL)
				}
				asked = append(asked, q.Get("limit")+" "+q.Get("cursor"))
				from, _ := strconv.Atoi(q.Get("cursor"))
				limit, _ := strconv.Atoi(q.Get("limit"))
				page := rest.InventoryPage[rest.InventoryImage]{}
				for n := from; n < min(from+limit, c.there); n++ {
					page.Items = append(page.Items, rest.InventoryImage{InventoryImageName: rest.InventoryImageName{Reference: "image"}})
				}
				if from+limit < c.there {
					page.Cursor = strconv.Itoa(from + limit)
				}
				if c.stuck {
					page.Cursor = "same"
				}
				body, _ := json.Marshal(page)
				clitest.Say(w, http.StatusOK, clitest.JSON, string(body))
			}), "", c.args...)
			if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && err != nil {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if shown := strings.Count(data, "\nimage "); shown != c.shown {
				t.Errorf("%d rows are shown, want %d", shown, c.shown)
			}
			if !strings.Contains(words, c.words) || c.words == "" && words != "" {
				t.Errorf("said %q, want %q", words, c.words)
			}
		})
	}
}

// TestManyDigests: a feed that is longer than the server takes is asked for in parts, each digest once.
func TestManyDigests(t *testing.T) {
	var feed strings.Builder
	for n := range 2500 {
		fmt.Fprintf(&feed, "image@sha256:%064d # %d\n", n%2001, n)
	}
	var sizes []int
	known := map[string]bool{}
	data, words, err := run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var search rest.InventorySearch
		if err := json.NewDecoder(r.Body).Decode(&search); err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v1/inventory/containers/search" {
			t.Errorf("called %s %s, %v", r.Method, r.URL, err)
		}
		if r.URL.Query().Has("organization") {
			t.Errorf("asked about %s", r.URL)
		}
		sizes = append(sizes, len(search.Digests))
		for _, digest := range search.Digests {
			known[digest] = true
		}
		clitest.Say(w, http.StatusOK, clitest.JSON, `{"items":[{"organization":"red","cluster":"shop","pod":"web-1"}],"asOf":{"clusters":3,"live":1,"lost":2}}`)
	}), feed.String(), "who-runs", "-", "-A")
	if err != nil || !cmp.Equal(sizes, []int{1000, 1000, 1}) || len(known) != 2001 {
		t.Errorf("got %v; asked for %v, in all %d", err, sizes, len(known))
	}
	if strings.Count(data, "web-1") != 3 || words != "2 of 3 clusters are shown as last seen; see: kqueen inventory clusters -A\n" {
		t.Errorf("printed %q and said %q", data, words)
	}
	if _, _, err := run(t, http.NotFoundHandler(), feed.String(), "who-runs", "-", "-o", "csv"); exit.CodeOf(err) != exit.Usage {
		t.Errorf("as csv: %v", err)
	}
}

func TestReadDigests(t *testing.T) {
	one := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		text string
		want []string
		bad  string
	}{
		"plain":    {one + "\r\n\n# none\n  " + one + " # again\n", []string{one}, ""},
		"named":    {"nginx:1@" + one, []string{one}, ""},
		"nothing":  {"# none\n", nil, "there is no digest in it"},
		"a name":   {one + "\nnginx:1.27\n", nil, "line 2: want the digest of an image"},
		"too long": {strings.Repeat("x", 1<<20), nil, "too long"},
	} {
		got, err := readDigests(strings.NewReader(c.text))
		if c.bad == "" && err != nil || c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestExport: what the server writes is printed without what a terminal obeys, and a server that is another one is told.
func TestExport(t *testing.T) {
	answer := func(status int, asOf, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("format"); got != "csv" {
				t.Errorf("asked for %q", got)
			}
			w.Header().Set(rest.HeaderInventoryAsOf, asOf)
			clitest.Say(w, status, "text/csv", body)
		})
	}
	data, words, err := run(t, answer(http.StatusOK, `{"clusters":1,"lost":1}`, "a,b\n\x1b[2J,\u202e1\n"), "", "nodes", "-o", "csv")
	if err != nil || data != "a,b\n[2J,1\n" || !strings.HasPrefix(words, "1 of 1 clusters is shown as last seen") {
		t.Errorf("printed %q and said %q, %v", data, words, err)
	}
	if _, _, err := run(t, answer(http.StatusOK, "", "<html>"), "", "nodes", "-o", "csv"); err == nil || !strings.Contains(err.Error(), "is its URL right?") {
		t.Errorf("another server: %v", err)
	}
	if data, _, err := run(t, answer(http.StatusForbidden, "", `{"code":"forbidden","detail":"no"}`), "", "nodes", "-o", "csv"); data != "" || exit.CodeOf(err) != exit.Denied {
		t.Errorf("refused: %q, %v", data, err)
	}
}

func TestTooBad(t *testing.T) {
	all := []rest.InventoryFinding{{Severity: "Info"}, {Severity: "Warning"}, {Severity: "Critical"}, {Severity: "warning"}, {Severity: "Catastrophic"}}
	for severity, want := range map[string]int{"critical": 2, "warning": 4} {
		if got := tooBad(all, severity); got != want {
			t.Errorf("%s: %d, want %d", severity, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	container := func(organization, cluster, repository, tag string) rest.InventoryContainer {
		return rest.InventoryContainer{
			InventoryPlace: rest.InventoryPlace{Organization: organization, Cluster: cluster, ClusterUID: organization + cluster},
			Image:          rest.InventoryImageName{Reference: repository + ":" + tag, Repository: repository, Tag: tag},
		}
	}
	all := []rest.InventoryContainer{
		container("blue", "shop", "nginx", "1"), container("blue", "shop", "nginx", "2"), container("blue", "edge", "nginx", "2"), container("red", "shop", "redis", "7"),
	}
	for by, want := range map[string][]group{
		"repository":   {{"nginx", 2, 2, 3}, {"redis", 1, 1, 1}},
		"image":        {{"nginx:2", 1, 2, 2}, {"nginx:1", 1, 1, 1}, {"redis:7", 1, 1, 1}},
		"cluster":      {{"blue/shop", 2, 1, 2}, {"blue/edge", 1, 1, 1}, {"red/shop", 1, 1, 1}},
		"organization": {{"blue", 2, 2, 3}, {"red", 1, 1, 1}},
	} {
		if diff := cmp.Diff(want, count(all, by)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", by, diff)
		}
	}
}
