package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// kubernetes is a config with which clients of Kubernetes call the server as a caller.
func (h *fixture) kubernetes(who string) *clientrest.Config {
	return &clientrest.Config{Host: h.URL + rest.KubernetesPath, BearerToken: h.tokens[who], QPS: -1}
}

// TestKubernetesAPI: a client of Kubernetes works with a member's token, and may what the member's role may.
func TestKubernetesAPI(t *testing.T) {
	h := newFixture(t)
	theirs, err := client.New(h.kubernetes("operator"), client.Options{Scheme: controlplanetest.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	applied := &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "org-blue", Name: "applied"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"},
	}
	//nolint:staticcheck // there are no apply configurations of our kinds
	if err := theirs.Patch(t.Context(), applied, client.Apply, client.FieldOwner("gitops")); err != nil {
		t.Fatalf("apply: %v", err)
	}
	list := &v1alpha1.ClusterList{}
	if err := theirs.List(t.Context(), list, client.InNamespace("org-blue")); err != nil || len(list.Items) != 1 {
		t.Errorf("list: %d, %v", len(list.Items), err)
	}
	list.Items[0].Labels = map[string]string{"tier": "web"}
	if err := theirs.Update(t.Context(), &list.Items[0]); err != nil {
		t.Errorf("update: %v", err)
	}
	if err := theirs.Delete(t.Context(), &list.Items[0]); err != nil {
		t.Errorf("delete: %v", err)
	}
	var page audit.Page
	h.await(t, func() bool { // a record ends after its answer
		page, err = h.audit.List(t.Context(), audit.Filter{Organization: "blue", OldestFirst: true})
		return err != nil || len(page.Records) >= 3
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		got = append(got, fmt.Sprintf("%s %s %s/%s %s %s %t %t %t", r.Actor.Name, r.Action, r.Object.Kind, r.Object.Name, r.Detail["operation"], r.Outcome, r.Object.UID != "", r.Before != "", r.After != ""))
	}
	want := []string{
		"operator update Cluster/applied kubernetes:patch succeeded true false true",
		"operator update Cluster/applied kubernetes:update succeeded true true true",
		"operator delete Cluster/applied kubernetes:delete succeeded true true false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the audit log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, all, err := discovery.NewDiscoveryClientForConfigOrDie(h.kubernetes("viewer")).ServerGroupsAndResources()
	if err != nil {
		t.Fatalf("discover: %v", err)
	}
	for _, l := range all {
		for _, r := range l.APIResources {
			if slices.Contains([]string{"secrets", "pods", "datastores", "deployments"}, r.Name) {
				t.Errorf("%s of %s is discovered", r.Name, l.GroupVersion)
			}
		}
	}
}

// TestKubernetesRefusals: what a caller may not is refused in the words of Kubernetes.
func TestKubernetesRefusals(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const clusters = rest.KubernetesPath + "/apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters"
	body := func(metadata string) string {
		return `{"apiVersion":"kqueen.io/v1alpha1","kind":"Cluster","metadata":{"name":"new",` + metadata + `},"spec":{"version":"v1.36.3"}}`
	}
	const merge = "application/merge-patch+json"
	h.await(t, func() bool { // the API server holds a guard some moments after it was told
		a := h.do(t.Context(), t, "operator", "POST", clusters+"?dryRun=All", body(`"finalizers":["a.b/c"]`))
		return a.status == http.StatusForbidden
	})
	for name, tc := range map[string]struct {
		who, method, path, body string
		status                  int
	}{
		"Unauthenticated":   {"", "GET", clusters, "", http.StatusUnauthorized},
		"Stranger":          {"nobody", "GET", clusters, "", http.StatusForbidden},
		"OtherOrganization": {"red", "GET", clusters, "", http.StatusForbidden},
		"ViewerWrites":      {"viewer", "POST", clusters, body(`"labels":{}`), http.StatusForbidden},
		"Finalizers":        {"owner", "PATCH", clusters + "/thing", `{"metadata":{"finalizers":["a.b/c"]}}`, http.StatusForbidden},
		"Owners":            {"owner", "PATCH", clusters + "/thing", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"1"}]}}`, http.StatusForbidden},
		"Orphans":           {"owner", "DELETE", clusters + "/thing?propagationPolicy=Orphan", "", http.StatusForbidden},
		"OrphansOldWay":     {"owner", "DELETE", clusters + "/thing?orphanDependents=true", "", http.StatusForbidden},
		"AdminFinalizers":   {"admin", "PATCH", clusters + "/thing?dryRun=All", `{"metadata":{"finalizers":["a.b/c"]}}`, http.StatusOK},
		"DeleteAll":         {"owner", "DELETE", clusters, "", http.StatusMethodNotAllowed},
		"Status":            {"owner", "PATCH", clusters + "/thing/status", `{}`, http.StatusNotFound},
		"Secrets":           {"admin", "GET", rest.KubernetesPath + "/api/v1/namespaces/org-blue/secrets", "", http.StatusNotFound},
		"Members":           {"owner", "PATCH", rest.KubernetesPath + "/apis/kqueen.io/v1alpha1/organizations/blue", `{}`, http.StatusMethodNotAllowed},
		"Upgrade":           {"owner", "GET", clusters + "?watch=true", "", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Content-Type", merge}
			if tc.method == "POST" {
				headers = []string{"Content-Type", "application/json"}
			}
			if name == "Upgrade" {
				headers = []string{"Upgrade", "websocket", "Connection", "Upgrade"}
			}
			a := h.do(t.Context(), t, tc.who, tc.method, tc.path, tc.body, headers...)
			said := metav1.Status{}
			if err := json.Unmarshal(a.body, &said); err != nil || a.status != tc.status || a.status >= 400 && (said.Kind != "Status" || int(said.Code) != tc.status) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

// TestKubernetesWatch: a watch sees what changes, and ends with the server.
func TestKubernetesWatch(t *testing.T) {
	h := newFixture(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+rest.KubernetesPath+"/apis/kqueen.io/v1alpha1/namespaces/org-blue/clusters?watch=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.tokens["viewer"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("watch: %v %v", resp, err)
	}
	defer resp.Body.Close()
	if n := h.api.streams.Open(); n != 1 {
		t.Errorf("%d streams are counted", n)
	}
	h.cluster(t, "blue", "watched")
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"watched"`) {
	}
	if !strings.Contains(lines.Text(), `"ADDED"`) {
		t.Errorf("the watch saw %q", lines.Text())
	}
	h.api.Close()
	for lines.Scan() {
	}
	h.await(t, func() bool { return h.api.streams.Open() == 0 })
}
