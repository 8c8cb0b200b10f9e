package kubeapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const clusters = "/apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters"
	type want struct {
		verb, namespace, name, sub string
		document                   document
		status                     int
	}
	for name, tc := range map[string]struct {
		method, path, query string
		want                want
	}{
		"List":             {"GET", clusters, "limit=500", want{verb: "list", namespace: "org-blue"}},
		"Watch":            {"GET", clusters, "watch=1", want{verb: "watch", namespace: "org-blue"}},
		"WatchNothing":     {"GET", clusters, "watch=", want{verb: "watch", namespace: "org-blue"}},
		"WatchFalse":       {"GET", clusters, "watch=False", want{verb: "list", namespace: "org-blue"}},
		"Everywhere":       {"GET", "/apis/kqueen.io/v1alpha1/clusters", "", want{verb: "list"}},
		"Get":              {"GET", clusters + "/demo", "", want{verb: "get", namespace: "org-blue", name: "demo"}},
		"Head":             {"HEAD", clusters + "/demo", "", want{verb: "get", namespace: "org-blue", name: "demo"}},
		"Create":           {"POST", clusters, "", want{verb: "create", namespace: "org-blue"}},
		"Apply":            {"PATCH", clusters + "/demo", "fieldManager=kubectl", want{verb: "patch", namespace: "org-blue", name: "demo"}},
		"Delete":           {"DELETE", clusters + "/demo", "", want{verb: "delete", namespace: "org-blue", name: "demo"}},
		"Scale":            {"PATCH", "/apis/kqueen.io/v1alpha1/namespaces/org-blue/nodepools/w/scale", "", want{verb: "patch", namespace: "org-blue", name: "w", sub: "scale"}},
		"Events":           {"GET", "/api/v1/namespaces/org-blue/events", "", want{verb: "list", namespace: "org-blue"}},
		"NewEvents":        {"GET", "/apis/events.k8s.io/v1/namespaces/org-blue/events", "", want{verb: "list", namespace: "org-blue"}},
		"Organization":     {"GET", "/apis/kqueen.io/v1alpha1/organizations/blue", "", want{verb: "get", name: "blue"}},
		"CanI":             {"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", want{verb: "create"}},
		"Version":          {"GET", "/version", "", want{document: version, verb: "get"}},
		"Core":             {"GET", "/api", "", want{document: coreVersions, verb: "get"}},
		"CoreResources":    {"GET", "/api/v1", "", want{document: resources, verb: "get"}},
		"Groups":           {"GET", "/apis", "", want{document: groups, verb: "get"}},
		"Group":            {"GET", "/apis/kqueen.io", "", want{document: group, verb: "get"}},
		"Resources":        {"GET", "/apis/kqueen.io/v1alpha1", "", want{document: resources, verb: "get"}},
		"OpenAPI":          {"GET", "/openapi/v3", "", want{document: openAPIIndex, verb: "get"}},
		"Schema":           {"GET", "/openapi/v3/apis/kqueen.io/v1alpha1", "hash=x", want{document: openAPISchema, verb: "get"}},
		"DeleteAll":        {"DELETE", clusters, "", want{status: http.StatusMethodNotAllowed}},
		"Status":           {"PATCH", clusters + "/demo/status", "", want{status: http.StatusNotFound}},
		"CreateMachine":    {"POST", "/apis/kqueen.io/v1alpha1/namespaces/org-blue/machines", "", want{status: http.StatusMethodNotAllowed}},
		"WriteOwners":      {"PATCH", "/apis/kqueen.io/v1alpha1/organizations/blue", "", want{status: http.StatusMethodNotAllowed}},
		"WriteProviders":   {"POST", "/apis/kqueen.io/v1alpha1/identityproviders", "", want{status: http.StatusMethodNotAllowed}},
		"WriteEvents":      {"POST", "/api/v1/namespaces/org-blue/events", "", want{status: http.StatusMethodNotAllowed}},
		"ListReviews":      {"GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", want{status: http.StatusMethodNotAllowed}},
		"OtherReviews":     {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", want{status: http.StatusNotFound}},
		"DataStores":       {"GET", "/apis/kqueen.io/v1alpha1/datastores", "", want{status: http.StatusNotFound}},
		"Secrets":          {"GET", "/api/v1/namespaces/org-blue/secrets", "", want{status: http.StatusNotFound}},
		"Proxy":            {"GET", "/api/v1/nodes/x/proxy/", "", want{status: http.StatusNotFound}},
		"Logs":             {"GET", "/logs/", "", want{status: http.StatusNotFound}},
		"Metrics":          {"GET", "/metrics", "", want{status: http.StatusNotFound}},
		"Root":             {"GET", "/", "", want{status: http.StatusNotFound}},
		"Dots":             {"GET", "/apis/kqueen.io/v1alpha1/namespaces/../clusters", "", want{status: http.StatusNotFound}},
		"Slashes":          {"GET", "/apis//v1/events", "", want{status: http.StatusNotFound}},
		"Encoded":          {"GET", clusters + "/a%2fb", "", want{status: http.StatusNotFound}},
		"OldWatch":         {"GET", "/apis/kqueen.io/v1alpha1/watch/namespaces/org-blue/clusters", "", want{status: http.StatusNotFound}},
		"PostVersion":      {"POST", "/version", "", want{status: http.StatusMethodNotAllowed}},
		"Trace":            {"TRACE", clusters, "", want{status: http.StatusMethodNotAllowed}},
		"AggregatedSchema": {"GET", "/openapi/v3/apis/apps/v1", "", want{status: http.StatusNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			query, err := url.ParseQuery(tc.query)
			if err != nil {
				t.Fatal(err)
			}
			c, status := read(tc.method, tc.path, query)
			got := want{c.Verb, c.Namespace, c.Name, c.Subresource, c.Document, status}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
			if status == 0 && c.Path != tc.path {
				t.Errorf("goes to %s", c.Path)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	for path, want := range map[string]bool{
		"POST /apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters":                true,
		"PATCH /apis/kqueen.io/v1alpha1/namespaces/org-blue/nodepools/w/scale":      true,
		"GET /apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters":                 false,
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":               false,
		"DELETE /apis/kqueen.io/v1alpha1/namespaces/org-blue/machines/workers-abcd": true,
	} {
		method, path, _ := strings.Cut(path, " ")
		c, status := read(method, path, nil)
		if status != 0 || c.changes() != want {
			t.Errorf("%s %s: changes %v, status %d; want %v", method, path, c.changes(), status, want)
		}
	}
}

func TestNarrow(t *testing.T) {
	for name, tc := range map[string]struct {
		path, from, want string
	}{
		"Groups": {
			"/apis",
			`{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
			  {"name":"events.k8s.io","versions":[{"groupVersion":"events.k8s.io/v1beta1","version":"v1beta1"},{"groupVersion":"events.k8s.io/v1","version":"v1"}],
			   "preferredVersion":{"groupVersion":"events.k8s.io/v1beta1","version":"v1beta1"}}]}`,
			`{"kind":"APIGroupList","groups":[{"name":"events.k8s.io","versions":[{"groupVersion":"events.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"events.k8s.io/v1","version":"v1"}}]}`,
		},
		"Core": {
			"/api", `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}`,
			`{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}`,
		},
		"Resources": {
			"/apis/kqueen.io/v1alpha1",
			`{"kind":"APIResourceList","groupVersion":"kqueen.io/v1alpha1","resources":[
			  {"name":"clusters","singularName":"cluster","namespaced":true,"kind":"Cluster","verbs":["delete","deletecollection","get","list","patch","create","update","watch"]},
			  {"name":"clusters/status","singularName":"","namespaced":true,"kind":"Cluster","verbs":["get","patch","update"]},
			  {"name":"datastores","singularName":"datastore","namespaced":false,"kind":"DataStore","verbs":["get"]},
			  {"name":"organizations","singularName":"organization","namespaced":false,"kind":"Organization","verbs":["get","list","patch"]},
			  {"name":"nodepools/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}`,
			`{"kind":"APIResourceList","groupVersion":"kqueen.io/v1alpha1","resources":[` +
				`{"name":"clusters","singularName":"cluster","namespaced":true,"kind":"Cluster","verbs":["delete","get","list","patch","create","update","watch"]},` +
				`{"name":"organizations","singularName":"organization","namespaced":false,"kind":"Organization","verbs":["get","list"]},` +
				`{"name":"nodepools/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}`,
		},
		"OpenAPI": {
			"/openapi/v3", `{"paths":{"api/v1":{},"apis/apps/v1":{},"apis/kqueen.io/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/kqueen.io/v1alpha1?hash=1"}}}`,
			`{"paths":{"apis/kqueen.io/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/kqueen.io/v1alpha1?hash=1"}}}`,
		},
		"Version": {"/version", `{"major":"1"}`, `{"major":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c, status := read("GET", tc.path, nil)
			if status != 0 {
				t.Fatal(status)
			}
			got, err := narrow(c, []byte(tc.from))
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// FuzzRead: whatever path goes to the API server is the one that was read, and of a resource that is reached here.
func FuzzRead(f *testing.F) {
	for _, path := range []string{"/apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters/demo", "/api/v1", "/a/../b", "//", "/apis/kqueen.io/v1alpha1/%2e%2e/x", "/openapi/v3/apis/a/b"} {
		f.Add("GET", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		c, status := read(method, path, nil)
		if status != 0 {
			return
		}
		if c.Path != path && "/"+path != c.Path {
			t.Errorf("%q goes to %q", path, c.Path)
		}
		if clean := (&url.URL{Scheme: "https", Host: "plane", Path: "/"}).JoinPath(c.Path); clean.Path != c.Path {
			t.Errorf("%q is not clean: %q", c.Path, clean.Path)
		}
	})
}
