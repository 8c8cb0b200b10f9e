package server

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// green makes a third organization, to which the viewer and the owner of blue belong as well.
func (h *fixture) green(t *testing.T) {
	t.Helper()
	o := &v1alpha1.Organization{
		ObjectMeta: metav1.ObjectMeta{Name: "green"},
		Spec: v1alpha1.OrganizationSpec{Members: []v1alpha1.Member{
			{User: "viewer", Role: v1alpha1.RoleViewer}, {User: "owner", Role: v1alpha1.RoleOwner},
		}},
	}
	if err := h.plane.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), o) })
	err := h.plane.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := role.Keep(t.Context(), h.plane, role.Bindings(o)); err != nil {
		t.Fatal(err)
	}
	h.await(t, func() bool {
		return h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/green/quota", "").status == http.StatusOK
	})
}

// cluster puts a cluster into an organization.
func (h *fixture) cluster(t *testing.T, organization, name string) {
	t.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespacePrefix + organization, Name: name}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	if err := h.plane.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), c) })
}

// TestEverywhere: a list over all organizations shows what its caller may list in each, and nothing of the others.
func TestEverywhere(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	for _, at := range []string{"blue/ev-1", "red/ev-1", "green/ev-2"} {
		organization, name, _ := strings.Cut(at, "/")
		h.cluster(t, organization, name)
	}
	names := func(who, path string) string {
		var all []string
		for _, o := range h.list(t, who, path).Items {
			all = append(all, o.Organization+"/"+o.Name)
		}
		return strings.Join(all, " ")
	}
	const clusters = "/api/v1/clusters?name=ev-"
	h.await(t, func() bool { return len(h.list(t, "admin", clusters).Items) == 3 })
	for who, want := range map[string]string{
		"viewer": "blue/ev-1 green/ev-2", "operator": "blue/ev-1", "red": "red/ev-1", "nobody": "", "admin": "blue/ev-1 red/ev-1 green/ev-2",
	} {
		if got := names(who, clusters); got != want {
			t.Errorf("%s sees %q, want %q", who, got, want)
		}
	}
	for _, who := range []string{"nobody", "viewer", "admin"} {
		if got := names(who, "/api/v1/provisioners?name=hosted"); got != "/hosted" {
			t.Errorf("%s sees the shared provisioners %q", who, got)
		}
	}
	var paged []string
	cursor := ""
	for {
		page := h.list(t, "admin", clusters+"&limit=1&cursor="+cursor)
		paged = append(paged, page.Items[0].Organization)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(paged, []string{"blue", "red", "green"}) {
		t.Errorf("page by page there are %v", paged)
	}
	cursor = h.list(t, "admin", clusters+"&limit=1").Cursor
	for what, ask := range map[string][2]string{
		"a cursor of another caller":   {"viewer", clusters + "&limit=1&cursor=" + cursor},
		"a cursor of all, in one":      {"admin", "/api/v1/organizations/red/clusters?name=ev-&limit=1&cursor=" + cursor},
		"a cursor of another kind":     {"admin", "/api/v1/nodepools?name=ev-&limit=1&cursor=" + cursor},
		"a selector that is none":      {"nobody", "/api/v1/clusters?labelSelector=a%3D%3D%3D"},
		"a selector of a watch":        {"nobody", "/api/v1/clusters?watch=true&labelSelector=a%3D%3D%3D"},
		"a parameter that there isn't": {"nobody", "/api/v1/clusters?organization=red"},
	} {
		if a := h.do(t.Context(), t, ask[0], "GET", ask[1], ""); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
}

// TestWatchEverywhere: a watch over several organizations shows nothing of others, goes on where it ended, and ends
// within seconds when the caller may not see one of them any more.
func TestWatchEverywhere(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const watch = "/api/v1/clusters?watch=true&name=ew-"
	h.cluster(t, "blue", "ew-1")
	lines := h.events(t, "viewer", watch)
	first := next(t, lines, "added")
	if first.Object == nil || first.Object.Name != "ew-1" || first.Object.Organization != "blue" {
		t.Fatalf("the first event is %+v", first)
	}
	h.cluster(t, "red", "ew-2")
	h.cluster(t, "green", "ew-3")
	if e := next(t, lines, "added"); e.Object.Name != "ew-3" || e.Object.Organization != "green" {
		t.Errorf("then comes %+v", e.Object)
	}
	again := h.events(t, "viewer", watch, "Last-Event-ID", first.Revision)
	if e := next(t, again, "added"); e.Object.Name != "ew-3" {
		t.Errorf("after the first event comes %+v", e.Object)
	}
	all := h.events(t, "admin", watch, "Last-Event-ID", first.Revision)
	if e := next(t, all, "added"); e.Object.Organization != "red" {
		t.Errorf("an administrator sees %+v", e.Object)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "org-green", Name: "kqueen:viewer"}}
	if err := h.plane.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	next(t, lines, "problem")
	if got := h.list(t, "viewer", "/api/v1/clusters?name=ew-").Items; len(got) != 1 || got[0].Organization != "blue" {
		t.Errorf("without the right, a list has %+v", got)
	}
}

// TestFilters: clusters are found by their provisioner and version, in one organization and in all, by lists and by watches.
func TestFilters(t *testing.T) {
	h := newFixture(t)
	for name, provisioner := range map[string]string{"ef-1": "hosted", "ef-2": "imported", "ef-3": "hosted"} {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: name}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
		c.Spec.ProvisionerRef.Name = provisioner
		if err := h.plane.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.plane.Delete(context.WithoutCancel(t.Context()), c) })
		if name == "ef-3" {
			c.Status.Version = "v1.35.4"
			if err := h.plane.Status().Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	const one, all = "/api/v1/organizations/blue/clusters?name=ef-", "/api/v1/clusters?name=ef-"
	h.await(t, func() bool {
		return len(h.list(t, "viewer", one+"&version=v1.35.4").Items) == 1 && len(h.list(t, "viewer", one).Items) == 3
	})
	for filter, want := range map[string]string{
		"&provisioner=hosted": "ef-1 ef-3", "&provisioner=imported": "ef-2", "&provisioner=host": "", "&version=v1.36.3": "ef-1 ef-2",
		"&provisioner=hosted&version=v1.35.4": "ef-3", "&version=v1.36": "",
	} {
		for _, path := range []string{one, all} {
			var names []string
			for _, o := range h.list(t, "viewer", path+filter).Items {
				names = append(names, o.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s lists %q, want %q", path+filter, got, want)
			}
			if want == "" {
				continue
			}
			seen := map[string]bool{}
			for line := range h.events(t, "viewer", path+filter+"&watch=true") {
				if _, name, ok := strings.Cut(line, `"name":"ef-`); ok {
					seen["ef-"+name[:1]] = true
				}
				if line == "event: bookmark" {
					break
				}
			}
			if got := strings.Join(slices.Sorted(maps.Keys(seen)), " "); got != want {
				t.Errorf("%s follows %q, want %q", path+filter, got, want)
			}
		}
	}
	if got := h.list(t, "viewer", "/api/v1/nodepools?provisioner=hosted").Items; len(got) != 0 {
		t.Errorf("node pools of a provisioner are %+v", got)
	}
	if a := h.do(t.Context(), t, "viewer", "GET", one+"&version="+strings.Repeat("v", 65), ""); a.status != http.StatusUnprocessableEntity || a.problem(t).Errors[0].Pointer != "?version" {
		t.Errorf("a version that is too long: %d %s", a.status, a.body)
	}
}
