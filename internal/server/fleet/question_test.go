package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/server/problem"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// wantPointer compares the part of a request that an error names; "" is for no error.
func wantPointer(t *testing.T, want string, err error) {
	t.Helper()
	got := ""
	if err != nil {
		p := problem.Of(err)
		if got = p.Detail; len(p.Errors) == 1 {
			got = p.Errors[0].Pointer
		}
	}
	if got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestWhere(t *testing.T) {
	for name, tc := range map[string]struct {
		where Where
		want  inventory.Filter
		bad   string
	}{
		"Empty": {Where{}, inventory.Filter{Limit: 100}, ""},
		"All": {
			Where{Organizations: []string{"blue"}, Clusters: []string{"a", "b"}, ClusterLabels: []string{"env=prod", "note=a=b", "env=prod"}, At: noon, Limit: 7, Cursor: "c"},
			inventory.Filter{
				Organizations: []string{"blue"}, Clusters: []string{"a", "b"}, ClusterLabels: map[string]string{"env": "prod", "note": "a=b"}, At: noon, Limit: 7, Cursor: "c",
			}, "",
		},
		"EmptyValue":   {Where{ClusterLabels: []string{"env="}}, inventory.Filter{Limit: 100, ClusterLabels: map[string]string{"env": ""}}, ""},
		"NoValue":      {Where{ClusterLabels: []string{"env"}}, inventory.Filter{}, "?clusterLabel"},
		"NoKey":        {Where{ClusterLabels: []string{"=prod"}}, inventory.Filter{}, "?clusterLabel"},
		"Contradicts":  {Where{ClusterLabels: []string{"env=prod", "env=test"}}, inventory.Filter{}, "?clusterLabel"},
		"Future":       {Where{At: noon.Add(time.Hour)}, inventory.Filter{}, "?at"},
		"AnotherClock": {Where{At: noon.Add(time.Second)}, inventory.Filter{At: noon.Add(time.Second), Limit: 100}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got inventory.Filter
			err := tc.where.into(&got, noon)
			wantPointer(t, tc.bad, err)
			if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	for name, tc := range map[string]struct {
		between Between
		at      time.Time
		cursor  string
		want    *compared
		bad     string
	}{
		"Neither":      {Between{}, hour(-1), "x", nil, ""},
		"Both":         {Between{hour(-2), hour(-1)}, time.Time{}, "x", &compared{hour(-2), hour(-1), ""}, ""},
		"UntilNow":     {Between{From: hour(-2)}, time.Time{}, "", &compared{hour(-2), noon, "2026-11-24T12:00:00Z~"}, ""},
		"SecondPage":   {Between{From: hour(-2)}, time.Time{}, "2026-11-24T11:59:58.5Z~x", &compared{hour(-2), noon.Add(-1500 * time.Millisecond), "2026-11-24T11:59:58.5Z~"}, ""},
		"FuturePage":   {Between{From: hour(-2)}, time.Time{}, "2026-11-24T13:59:58Z~x", nil, "?to"},
		"PageOfOthers": {Between{From: hour(-2)}, time.Time{}, "y~x", nil, "?cursor"},
		"NoFrom":       {Between{To: hour(-2)}, time.Time{}, "", nil, "?from"},
		"AtToo":        {Between{From: hour(-2)}, hour(-1), "", nil, "?at"},
		"Reversed":     {Between{hour(-1), hour(-2)}, time.Time{}, "", nil, "?from"},
		"Same":         {Between{hour(-1), hour(-1)}, time.Time{}, "", nil, "?from"},
		"Future":       {Between{hour(-1), hour(1)}, time.Time{}, "", nil, "?to"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.between.times(tc.at, noon, tc.cursor)
			wantPointer(t, tc.bad, err)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(compared{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPagesUntilNow: every page of what changed until now is until the same moment, which a store binds its cursors to.
func TestPagesUntilNow(t *testing.T) {
	var asked []string
	read := func(_ context.Context, f inventory.Filter, from, to time.Time) (inventory.Page[int], error) {
		asked = append(asked, f.Cursor+" "+from.Format(time.TimeOnly)+" "+to.Format(time.TimeOnly))
		return inventory.Page[int]{Next: map[string]string{"": "one", "one": "two"}[f.Cursor]}, nil
	}
	b, cursor := &Between{From: noon.Add(-time.Hour)}, ""
	for n := range 3 {
		two, err := b.times(time.Time{}, noon.Add(time.Duration(n)*time.Minute), cursor)
		if err != nil {
			t.Fatal(err)
		}
		page, err := between(two, read)(t.Context(), inventory.Filter{Cursor: cursor})
		if err != nil || (page.Next == "") != (n == 2) {
			t.Errorf("page %d ends with %q, %v", n, page.Next, err)
		}
		cursor = page.Next
	}
	if diff := cmp.Diff([]string{" 11:00:00 12:00:00", "one 11:00:00 12:00:00", "two 11:00:00 12:00:00"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestDigestsAndVersions(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a1", 32)
	for of, want := range map[string]bool{
		digest: true, strings.ToUpper(digest): false, "sha512:" + strings.Repeat("0", 128): true, "sha256:": false, "": false, strings.Repeat("a", 64): false,
		":" + strings.Repeat("a", 64): false, "sha256:" + strings.Repeat("é", 40): false, "sha256:" + strings.Repeat("a", 63) + "\n": false,
		"sha256:" + strings.Repeat("a", 300): false, "sha256:" + strings.Repeat("a", 40) + "%" + strings.Repeat("a", 23): false,
	} {
		if got := isDigest(of); got != want {
			t.Errorf("%q is a digest: %t, want %t", of, got, want)
		}
	}
	for version, bad := range map[string]string{"": "", "<1.34": "", ">=1.33 <1.35": "", "v1.36.3": "", "new": "?version", "<": "?version"} {
		wantPointer(t, bad, (&OfComponent{Version: version}).into(&inventory.Filter{}))
	}
	wantPointer(t, "?digest", (&OfImage{Digests: []string{digest, "nginx"}}).into(&inventory.Filter{}))
}

func TestFormatOf(t *testing.T) {
	for name, tc := range map[string]struct{ name, accept, want, plain string }{
		"Nothing":   {"", "", formatJSON, formatJSON},
		"Named":     {"csv", "application/json", formatCSV, formatCSV},
		"CSV":       {"", "text/csv; charset=utf-8, */*;q=0.1", formatCSV, formatCSV},
		"JSONFirst": {"", "application/json, text/csv", formatJSON, formatJSON},
		"Unknown":   {"", "image/png", formatJSON, formatJSON},
		"BOM":       {"", "application/vnd.cyclonedx+json; version=1.6", formatBOM, formatJSON},
		"Browser":   {"", "text/html,*/*", formatJSON, formatJSON},
	} {
		if got := (&FormatWithBOM{tc.name, tc.accept}).format(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if got := (&Format{tc.name, tc.accept}).format(); got != tc.plain {
			t.Errorf("%s where there is no bill of materials: %s, want %s", name, got, tc.plain)
		}
	}
}
