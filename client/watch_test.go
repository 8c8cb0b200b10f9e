package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

// sends is a stream of events, which then breaks.
func sends(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

func sent(kind, revision string) string {
	return fmt.Sprintf("event: %[1]s\nid: %[2]s\ndata: {\"type\":%[1]q,\"revision\":%[2]q,\"object\":{\"name\":\"demo\"}}\n\n", kind, revision)
}

const tooOld = "event: problem\ndata: {\"status\":410,\"code\":\"gone\",\"detail\":\"too old\"}\n\n"

func TestWatch(t *testing.T) {
	bookmark := "event: bookmark\nid: 20\ndata: {\"type\":\"bookmark\",\"revision\":\"20\"}\n\n"
	gone := says(http.StatusGone, "Content-Type: application/problem+json", `{"code":"gone"}`)
	tests := map[string]struct {
		reason  string
		after   string
		answers []http.HandlerFunc
		want    []string // events
		from    []string // Last-Event-ID of each request
		status  int      // of the problem that ends it; 0 when it is none
	}{
		"Resumes": {
			"A stream goes on where it broke.", "10",
			[]http.HandlerFunc{sends(sent("added", "11") + ": alive\n\n" + sent("modified", "12")), sends(sent("deleted", "13") + tooOld)},
			[]string{"added 11", "modified 12", "deleted 13"}, []string{"10", "12"}, 410,
		},
		"GoneBetween": {
			"When what came between is forgotten, who watches has to list again.", "10",
			[]http.HandlerFunc{sends(sent("added", "11")), gone}, []string{"added 11"}, []string{"10", "11"}, 410,
		},
		"NoPlace": {
			"What is there comes in no order: a caller cannot go on from the middle.", "",
			[]http.HandlerFunc{sends(sent("added", "30") + sent("added", "4"))}, []string{"added 30", "added 4"}, []string{""}, 0,
		},
		"PlaceByBookmark": {
			"", "", []http.HandlerFunc{sends(sent("added", "4") + bookmark), sends(tooOld)},
			[]string{"added 4", "bookmark 20"}, []string{"", "20"}, 410,
		},
		"StaysBroken": {
			"Three times in a row are enough.", "10", []http.HandlerFunc{sends("")}, nil, []string{"10", "10", "10", "10"}, 0,
		},
		"Unknown": {
			"There may be other events one day.", "10", []http.HandlerFunc{sends("event: later\nid: 11\ndata: {}\n\n" + tooOld)}, nil, []string{"10"}, 410,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := answering(t, Config{}, tc.answers...)
			w, err := d.WatchObjects(t.Context(), Collection{Kind: "Cluster", Organization: "blue"}, ObjectQuery{LabelSelector: "a=b"}, tc.after)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			var got, from []string
			event, err := w.Next()
			for ; err == nil; event, err = w.Next() {
				got = append(got, event.Type+" "+event.Revision)
			}
			for _, r := range d.seen {
				from = append(from, r.Header.Get("Last-Event-ID"))
				if r.URL.RequestURI() != "/api/v1/organizations/blue/clusters?labelSelector=a%3Db&watch=true" {
					t.Errorf("asked for %s", r.URL.RequestURI())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s events: -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.from, from); diff != "" {
				t.Errorf("%s requests: -want +got\n%s", tc.reason, diff)
			}
			status := 0
			if p, ok := errors.AsType[*Problem](err); ok {
				status = p.Status
			}
			if status != tc.status {
				t.Errorf("%s it ends with %v, want status %d", tc.reason, err, tc.status)
			}
		})
	}
}

func TestWatchIsRefused(t *testing.T) {
	d := answering(t, Config{}, says(http.StatusNotFound, "Content-Type: application/problem+json", `{"code":"not-found"}`))
	_, err := d.WatchObjects(t.Context(), Collection{Kind: "Cluster", Organization: "blue"}, ObjectQuery{}, "")
	if p, ok := errors.AsType[*Problem](err); !ok || p.Status != http.StatusNotFound {
		t.Errorf("got %v", err)
	}
	d = answering(t, Config{}, says(http.StatusOK, "Content-Type: text/html", "<p>Sign in"))
	if w, err := d.WatchObjects(t.Context(), Collection{Kind: "Cluster", Organization: "blue"}, ObjectQuery{}, ""); err == nil {
		w.Close()
		t.Error("a page is taken for events")
	}
}

// TestWatchEnds wants a watch that waits to end with its context, and when it is closed.
func TestWatchEnds(t *testing.T) {
	stays := func(w http.ResponseWriter, r *http.Request) {
		sends("")(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, closes := range map[string]bool{"Context": false, "Close": true} {
		t.Run(name, func(t *testing.T) {
			d := answering(t, Config{}, stays)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := d.WatchObjects(ctx, Collection{Kind: "Cluster"}, ObjectQuery{}, "10")
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(20*time.Millisecond, map[bool]func(){true: w.Close, false: cancel}[closes])
			if _, err := w.Next(); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestObjects(t *testing.T) {
	blue := Collection{Kind: "NodePool", Organization: "blue"}
	one := says(http.StatusOK, "", `{"kind":"NodePool","name":"a","revision":"5"}`)
	tests := map[string]struct {
		call    func(context.Context, *Client) error
		answers []http.HandlerFunc
		want    []string // method, path, If-Match, media type, body
	}{
		"Get": {func(ctx context.Context, c *Client) error { _, err := c.GetObject(ctx, blue, "a"); return err }, []http.HandlerFunc{one},
			[]string{"GET /api/v1/organizations/blue/nodepools/a [] [] "}},
		"Everywhere": {func(ctx context.Context, c *Client) error {
			_, err := c.ListObjects(ctx, Collection{Kind: "NodePool"}, ObjectQuery{Cluster: "demo"})
			return err
		}, []http.HandlerFunc{one}, []string{"GET /api/v1/nodepools?cluster=demo [] [] "}},
		"Filtered": {func(ctx context.Context, c *Client) error {
			_, err := c.ListObjects(ctx, Collection{Kind: "Cluster"}, ObjectQuery{Provisioner: "hosted", Version: "v1.36.3", Ready: "true"})
			return err
		}, []http.HandlerFunc{one}, []string{"GET /api/v1/clusters?provisioner=hosted&ready=true&version=v1.36.3 [] [] "}},
		"All": {func(ctx context.Context, c *Client) error {
			all, err := c.AllObjects(ctx, blue, ObjectQuery{})
			if err == nil && len(all.Items) != 3 {
				err = fmt.Errorf("got %+v", all)
			}
			return err
		}, []http.HandlerFunc{
			says(http.StatusOK, "", `{"items":[{"name":"a"},{"name":"b"}],"cursor":"x"}`),
			says(http.StatusOK, "", `{"items":[{"name":"c"}]}`),
		}, []string{"GET /api/v1/organizations/blue/nodepools?limit=500 [] [] ", "GET /api/v1/organizations/blue/nodepools?cursor=x&limit=500 [] [] "}},
		"Create": {func(ctx context.Context, c *Client) error {
			_, err := c.CreateObject(ctx, blue, rest.Input{Name: "a", Spec: []byte(`{"x":1}`)}, Change{DryRun: true})
			return err
		}, []http.HandlerFunc{one}, []string{`POST /api/v1/organizations/blue/nodepools?dryRun=true [] [application/json] {"name":"a","spec":{"x":1}}`}},
		"Update": {func(ctx context.Context, c *Client) error {
			_, err := c.UpdateObject(ctx, blue, "a", []byte(`{"labels":{"x":null}}`), Change{Revision: "5"})
			return err
		}, []http.HandlerFunc{one}, []string{`PATCH /api/v1/organizations/blue/nodepools/a ["5"] [application/merge-patch+json] {"labels":{"x":null}}`}},
		"Replace": {func(ctx context.Context, c *Client) error {
			_, err := c.ReplaceObject(ctx, blue, "a", rest.Input{Name: "a", Spec: []byte(`{"x":1}`)}, Change{})
			return err
		}, []http.HandlerFunc{one}, []string{`PUT /api/v1/organizations/blue/nodepools/a [*] [application/json] {"spec":{"x":1}}`}},
		"Delete": {func(ctx context.Context, c *Client) error { return c.DeleteObject(ctx, blue, "a", Change{}) },
			[]http.HandlerFunc{says(http.StatusAccepted, "", "")}, []string{`DELETE /api/v1/organizations/blue/nodepools/a [*] [] `}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := answering(t, Config{}, tc.answers...)
			if err := tc.call(t.Context(), d.Client); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, r := range d.seen {
				got = append(got, fmt.Sprintf("%s %s %v %v %s", r.Method, r.RequestURI, r.Header["If-Match"], r.Header["Content-Type"], d.bodies[i]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestNoSuchOperation(t *testing.T) {
	d := answering(t, Config{}, hangsUp)
	for name, err := range map[string]error{
		"kind": d.DeleteObject(t.Context(), Collection{Kind: "Secret", Organization: "blue"}, "a", Change{}),
		"verb": d.DeleteObject(t.Context(), Collection{Kind: "Release"}, "a", Change{}),
		"name": d.DeleteObject(t.Context(), Collection{Kind: "Cluster", Organization: ".."}, "a", Change{}),
	} {
		if err == nil || len(d.seen) > 0 {
			t.Errorf("%s: %v, %d requests", name, err, len(d.seen))
		}
	}
	endless := answering(t, Config{}, says(http.StatusOK, "", `{"items":[{"name":"a"}],"cursor":"x"}`))
	if _, err := endless.AllObjects(t.Context(), Collection{Kind: "Release"}, ObjectQuery{}); err == nil {
		t.Error("a list that does not end was read to its end")
	}
}
