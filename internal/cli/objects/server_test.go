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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestDeleteExactly deletes a cluster whose server answers in ways that a caller must not take for success, and in others
// that are one.
func TestDeleteExactly(t *testing.T) {
	const (
		present = `{"kind":"Cluster","name":"demo","uid":"mine","revision":"7"}`
		other   = `{"kind":"Cluster","name":"demo","uid":"another","revision":"8"}`
	)
	no := func(code string) string { return fmt.Sprintf(`{"code":%q,"detail":"no"}`, code) }
	cases := map[string]struct {
		reason string
		status int
		found  string
		// said is the answer to the deletion; empty when it may not be asked for.
		saidStatus int
		said       string
		asked      int
		want       string
	}{
		"Deleted":      {"", 200, present, 204, "", 1, ""},
		"Gone":         {"", 404, no(rest.CodeNotFound), 0, "", 0, ""},
		"Another":      {"One of the same name that came after it stays.", 200, other, 0, "", 0, ""},
		"GoneMeantime": {"", 200, present, 404, no(rest.CodeNotFound), 1, ""},
		"Changing":     {"It was read again and again, and is still there: that is no success.", 200, present, 412, no(rest.CodeChanged), deleteTries, "no"},
		"Refused":      {"", 200, present, 403, no(rest.CodeForbidden), 1, "no"},
		"OtherPage":    {"A proxy that finds nothing says nothing of the cluster.", 404, "<html>", 0, "", 0, "the server answers 404 Not Found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, said := tc.status, tc.found
				if r.Method == http.MethodDelete {
					asked++
					status, said = tc.saidStatus, tc.said
				}
				media := clitest.JSON
				if status >= http.StatusBadRequest {
					media = clitest.Problem
				}
				clitest.Say(w, status, media, said)
			}))
			err := c.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "demo", UID: "mine"}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s got %v, want %q", tc.reason, err, tc.want)
			}
			if asked != tc.asked {
				t.Errorf("%s it was asked for %d times, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
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
	const event = `{"lastSeenAt":"2026-01-02T03:04:05Z","firstSeenAt":"2026-01-02T03:04:05Z","reason":"Made","message":"%s","object":{"kind":"Cluster","name":"demo"}}`
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

// TestLookAtShared: what all organizations share has no watch, and is looked at by its name. That it is gone is known from a
// list alone: a caller who may not look is told the same of the object.
func TestLookAtShared(t *testing.T) {
	const missing, denied = `{"code":"not-found","detail":"none"}`, `{"code":"forbidden","detail":"no"}`
	cases := map[string]struct {
		reason     string
		status     int
		object     string
		listStatus int
		list       string
		found      int
		want       string
	}{
		"There":   {"", 200, `{"kind":"Provisioner","name":"hosted"}`, 500, "", 1, ""},
		"Own":     {"The organization has one of the same name.", 200, `{"kind":"Provisioner","name":"hosted","organization":"blue"}`, 500, "", 0, ""},
		"Gone":    {"", 404, missing, 200, `{"items":[]}`, 0, ""},
		"Denied":  {"", 404, missing, 403, denied, 0, "no"},
		"Nowhere": {"The organization is gone, too.", 404, missing, 404, missing, 0, "none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status, said := tc.status, tc.object
				if strings.HasSuffix(r.URL.Path, "/provisioners") {
					status, said = tc.listStatus, tc.list
				}
				media := clitest.JSON
				if status >= http.StatusBadRequest {
					media = clitest.Problem
				}
				clitest.Say(w, status, media, said)
			}))
			watch, err := c.Watch(t.Context(), Set{Kind: "Provisioner", Organization: "blue", Shared: true, Name: "hosted"})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s got %v, want %q", tc.reason, err, tc.want)
			}
			if err != nil {
				return
			}
			defer watch.Close()
			for range tc.found {
				if event, err := watch.Next(); err != nil || event.Type != rest.EventAdded || event.Object.GetNamespace() != v1alpha1.SystemNamespace {
					t.Errorf("got %+v, %v, want what is there", event, err)
				}
			}
			if event, err := watch.Next(); err != nil || event.Type != rest.EventBookmark {
				t.Errorf("%s got %+v, %v, want that this is all", tc.reason, event, err)
			}
		})
	}
}
