package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/clusterapi"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// lead takes the admin plane for each adopted cluster, and what a test says for others.
func (h *fixture) lead(_ context.Context, c *v1alpha1.Cluster) (clusterapi.Way, error) {
	if c.Spec.ProvisionerRef.Name != "imported" {
		return h.hosted()
	}
	server, err := url.Parse(h.admin.Host)
	if err != nil {
		return clusterapi.Way{}, err
	}
	transport, err := rest.TransportFor(h.admin)
	return clusterapi.Way{Server: server, Transport: transport}, err
}

func (h *fixture) ended(string) []string {
	if all := h.endings.Load(); all != nil {
		return *all
	}
	return nil
}

// enter gets a credential for the adopted cluster and says to whom it belongs there.
func (h *fixture) enter(t *testing.T, who string) (credential apirest.ClusterCredential) {
	t.Helper()
	a := h.do(t.Context(), t, who, "POST", "/api/v1/organizations/blue/clusters/adopted/credential", "{}")
	if err := json.Unmarshal(a.body, &credential); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", who, a.status, a.body)
	}
	return credential
}

// inside calls the adopted cluster with a credential for it.
func (h *fixture) inside(t *testing.T, token, method, path, body string) answer {
	t.Helper()
	return h.do(t.Context(), t, "", method, apirest.ClustersPath+"/blue/adopted"+path, body, "Authorization", "Bearer "+token)
}

const selfReview = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`

// TestEnterAdopted: members are themselves in an adopted cluster, in the group of their role, for as long as what they came with is good.
func TestEnterAdopted(t *testing.T) {
	h := newFixture(t)
	h.adopt(t)
	for who, group := range map[string]string{"viewer": v1alpha1.AccessView, "developer": v1alpha1.AccessEdit, "owner": v1alpha1.AccessClusterAdmin} {
		token := h.enter(t, who).Token
		a := h.inside(t, token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", selfReview)
		var review authenticationv1.SelfSubjectReview
		if err := json.Unmarshal(a.body, &review); err != nil || a.status != http.StatusCreated {
			t.Fatalf("%s: %d %s", who, a.status, a.body)
		}
		got := []string{review.Status.UserInfo.Username}
		got = append(got, slices.Sorted(slices.Values(review.Status.UserInfo.Groups))...)
		if diff := cmp.Diff([]string{"kqueen:" + who, "kqueen:" + group, "system:authenticated"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
		if a := h.inside(t, token, "GET", "/api/v1/secrets", ""); a.status != http.StatusForbidden || !strings.Contains(string(a.body), "kqueen:"+who) {
			t.Errorf("%s has rights that nothing gives: %d %s", who, a.status, a.body)
		}
	}
	token := h.enter(t, "viewer").Token
	for name, tc := range map[string]struct {
		token, path string
		want        int
	}{
		"A session is no credential": {h.tokens["owner"], "/api/v1/pods", 401},
		"Nothing":                    {"", "/api/v1/pods", 401},
		"Metrics":                    {token, "/metrics", 401},
		"Up":                         {token, "/api/%2e%2e/metrics", 401},
		"Good":                       {token, "/version", 200},
	} {
		if a := h.inside(t, tc.token, "GET", tc.path, ""); a.status != tc.want {
			t.Errorf("%s: %d, want %d: %s", name, a.status, tc.want, a.body)
		}
	}
	if a := h.do(t.Context(), t, "", "GET", apirest.ClustersPath+"/blue/adopted/version", "", "Authorization", "Bearer "+token, "Impersonate-User", "root"); a.status != http.StatusBadRequest {
		t.Errorf("as another user: %d %s", a.status, a.body)
	}
	h.wantInside(t)
	all := []string{h.sessionOf(t, "viewer")}
	h.endings.Store(&all)
	if a := h.inside(t, token, "GET", "/version", ""); a.status != http.StatusUnauthorized {
		t.Errorf("with a credential of a session that has ended: %d %s", a.status, a.body)
	}
}

// wantInside: what changes something in the cluster is in the audit log, with the member.
func (h *fixture) wantInside(t *testing.T) {
	t.Helper()
	page, err := h.audit.List(t.Context(), audit.Filter{Organization: "blue", Action: "cluster-post", Actor: "owner"})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("%d records: %v", len(page.Records), err)
	}
	r := page.Records[0]
	want := map[string]string{"method": "POST", "path": "/apis/authentication.k8s.io/v1/selfsubjectreviews", "access": v1alpha1.AccessClusterAdmin}
	if diff := cmp.Diff(want, r.Detail); diff != "" || r.Object.Kind != "Cluster" || r.Object.Name != "adopted" || r.Outcome != audit.Succeeded {
		t.Errorf("recorded is %+v (-want +got):\n%s", r, diff)
	}
}

// sessionOf is the id of a caller's session.
func (h *fixture) sessionOf(t *testing.T, who string) string {
	t.Helper()
	identity, err := h.access.Credentials.Authenticate(t.Context(), h.tokens[who])
	if err != nil {
		t.Fatal(err)
	}
	return identity.Credential.ID
}

// TestKubeconfigOfAdopted: it leads here, and the kubeconfig that was set is handed out to no caller, not even in an emergency.
func TestKubeconfigOfAdopted(t *testing.T) {
	h := newFixture(t)
	h.adopt(t)
	const at = "/api/v1/organizations/blue/clusters/adopted/"
	a := h.do(t.Context(), t, "viewer", "POST", at+"kubeconfig", "{}")
	var made apirest.Kubeconfig
	if err := json.Unmarshal(a.body, &made); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	config, err := clientcmd.Load([]byte(made.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		if want := "https://" + strings.TrimPrefix(h.URL, "http://") + "/clusters/blue/adopted"; c.Server != want || !bytes.Equal(c.CertificateAuthorityData, h.admin.CAData) {
			t.Errorf("it leads to %s with another authority, want %s", c.Server, want)
		}
	}
	if a := h.do(t.Context(), t, "viewer", "POST", at+"credential", `{"uid":"`+made.UID+`"}`); made.UID == "" || a.status != http.StatusOK {
		t.Errorf("a credential for the cluster of UID %q: %d %s", made.UID, a.status, a.body)
	}
	for _, of := range []string{"credential", "kubeconfig"} {
		if a := h.do(t.Context(), t, "viewer", "POST", at+of, `{"uid":"of-one-before"}`); a.status != http.StatusConflict || !strings.Contains(a.problem(t).Detail, "another one") {
			t.Errorf("%s of a cluster that had the name before: %d %s", of, a.status, a.body)
		}
	}
	if a := h.do(t.Context(), t, "owner", "POST", at+"breakglass", "{}"); a.status != http.StatusConflict || !strings.Contains(a.problem(t).Detail, "was adopted") {
		t.Errorf("break-glass: %d %s", a.status, a.body)
	}
}
