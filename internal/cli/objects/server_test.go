package objects

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/clitest"
)

// served returns a client of a server that answers so.
func served(t *testing.T, answers http.Handler) *Client {
	t.Helper()
	dir := clitest.Serve(t, answers)
	api, err := kqueen.New(kqueen.Config{Connection: kqueen.Connection{Server: "unix://" + filepath.Join(dir, rest.LocalSocket)}})
	if err != nil {
		t.Fatal(err)
	}
	return New(api, newScheme(t), "blue")
}

// TestOtherKind: a server that answers with another kind than it was asked for is told so, and no type is taken for
// another.
func TestOtherKind(t *testing.T) {
	const object = `{"kind":"Provisioner","name":"demo","organization":"blue","uid":"u","revision":"1","spec":{}}`
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/clusters") && r.Method == http.MethodGet {
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"items":[`+object+`]}`)
			return
		}
		clitest.Say(w, http.StatusOK, clitest.JSON, object)
	}))
	const want = `the server answers with a "Provisioner" in place of a Cluster`
	calls := map[string]func() error{
		"Get":    func() error { _, err := c.Get(t.Context(), "Cluster", "demo"); return err },
		"Named":  func() error { _, err := Named[*v1alpha1.Cluster](t.Context(), c, "Cluster", "demo"); return err },
		"List":   func() error { _, err := c.List(t.Context(), Set{Kind: "Cluster", Organization: "blue"}); return err },
		"Create": func() error { return c.Create(t.Context(), &v1alpha1.Cluster{}, false) },
	}
	for name, call := range calls {
		if err := call(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// TestEventsEnd: pages of events are read to the end, also those of a server that never says that there is one, and what
// stands in two pages is one event.
func TestEventsEnd(t *testing.T) {
	const event = `{"time":"2026-01-02T03:04:05Z","firstTime":"2026-01-02T03:04:05Z","reason":"Made","message":"%s","object":{"kind":"Cluster","name":"demo"}}`
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := "first"
		if r.URL.Query().Get("cursor") != "" {
			note = "second"
		}
		clitest.Say(w, http.StatusOK, clitest.JSON, fmt.Sprintf(`{"items":[`+event+`,`+event+`],"cursor":"same"}`, note, "both"))
	}))
	watch, err := c.Watch(t.Context(), Set{Kind: eventKind, Organization: "blue"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		event, err := watch.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == rest.EventBookmark {
			got = append(got, "all")
			watch.Close() // else it would end after a moment
			continue
		}
		got = append(got, string(event.Object.GetUID()))
	}
	if len(got) != 4 || got[3] != "all" || cmp.Equal(got[0], got[1]) || cmp.Equal(got[1], got[2]) || cmp.Equal(got[0], got[2]) {
		t.Errorf("got %q, want three events, each once, and then that they are all", got)
	}
}
