package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

func TestMassAssignment(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const clusters = "/api/v1/organizations/blue/clusters"
	for _, field := range []string{
		`"organization":"red"`, `"uid":"1"`, `"status":{"version":"v1.36.3"}`, `"createdAt":"2020-01-01T00:00:00Z"`, `"revision":"1"`,
		`"generation":7`, `"kind":"Organization"`, `"metadata":{"namespace":"org-red"}`, `"ownerReferences":[]`, `"finalizers":["x"]`,
		`"egress":{"allow":["192.0.2.7:443"]}`,
	} {
		name, _, _ := strings.Cut(field, ":")
		want := "/" + strings.Trim(name, `"`)
		a := h.do(t.Context(), t, "owner", "POST", clusters, `{"name":"assigned","spec":{"version":"v1.36.3"},`+field+`}`)
		if p := a.problem(t); a.status != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("create with %s: %d %s", field, a.status, a.body)
		}
		a = h.do(t.Context(), t, "owner", "PATCH", clusters+"/thing", `{`+field+`}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
		if p := a.problem(t); a.status != http.StatusUnprocessableEntity || len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("change with %s: %d %s", field, a.status, a.body)
		}
	}
	a := h.do(t.Context(), t, "owner", "PATCH", clusters+"/thing", `{"name":"other"}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("rename: %d %s", a.status, a.body)
	}
	for path, body := range map[string]string{
		"/api/v1/users": `{"name":"mallory","password":"correct horse battery"}`, "/api/v1/me/tokens": `{"name":"x","expiresAt":"2030-01-01T00:00:00Z","account":"admin"}`,
		"/api/v1/organizations/blue/serviceaccounts": `{"name":"x","role":"viewer","organization":"red"}`,
	} {
		if a := h.do(t.Context(), t, "admin", "POST", path, body); a.status != http.StatusUnprocessableEntity {
			t.Errorf("POST %s with a field too many: %d %s", path, a.status, a.body)
		}
	}
}

func TestNoPrivilegeEscalation(t *testing.T) {
	h := newFixture(t)
	const merge = "application/merge-patch+json"
	for who, want := range map[string]int{"viewer": http.StatusForbidden, "operator": http.StatusForbidden, "red": http.StatusNotFound} {
		body := fmt.Sprintf(`{"spec":{"members":[{"user":%q,"role":"owner"}]}}`, who)
		if a := h.do(t.Context(), t, who, "PATCH", "/api/v1/organizations/blue", body, "If-Match", "*", "Content-Type", merge); a.status != want {
			t.Errorf("%s makes themselves an owner: %d %s", who, a.status, a.body)
		}
	}
	for _, body := range []string{
		`{"spec":{"quota":{"clusters":99}}}`, `{"spec":{"releases":["v1.36"]}}`, `{"spec":{"provisionerNames":["hosted"]}}`,
		`{"spec":{"drivers":["hosted"]}}`, `{"spec":{"dataStoreNames":["fast"]}}`, `{"spec":{"machineProviders":["local"]}}`,
		`{"spec":{"podSecurity":"privileged"}}`, `{"spec":{"egress":{"allow":["192.0.2.7:443"]}}}`,
	} {
		a := h.do(t.Context(), t, "owner", "PATCH", "/api/v1/organizations/blue", body, "If-Match", "*", "Content-Type", merge)
		if a.status != http.StatusForbidden {
			t.Errorf("an owner gives themselves %s: %d %s", body, a.status, a.body)
		}
	}
	// A token is never more than who made it.
	body := fmt.Sprintf(`{"name":"x","expiresAt":%q,"scope":{"organization":"blue","role":"owner"}}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	a := h.do(t.Context(), t, "viewer", "POST", "/api/v1/me/tokens", body)
	var issued rest.Issued
	if err := json.Unmarshal(a.body, &issued); err != nil || a.status != http.StatusCreated {
		t.Fatalf("a token: %d %s", a.status, a.body)
	}
	h.tokens["token"] = issued.Token
	if a := h.do(t.Context(), t, "token", "POST", "/api/v1/organizations/blue/clusters", `{"name":"x","spec":{"version":"v1.36.3"}}`); a.status != http.StatusForbidden {
		t.Errorf("a viewer's token for an owner creates a cluster: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "token", "POST", "/api/v1/me/tokens", strings.ReplaceAll(body, `"owner"`, `"viewer"`)); a.status != http.StatusForbidden {
		t.Errorf("a token makes a token: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "token", "GET", "/api/v1/organizations/red/clusters", ""); a.status != http.StatusNotFound {
		t.Errorf("a token for blue reads red: %d %s", a.status, a.body)
	}
}

func TestForgedHeaders(t *testing.T) {
	h := newFixture(t)
	for _, header := range []string{"Impersonate-User", "Impersonate-Group", "impersonate-extra-scopes", "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-A", "X-Forwarded-User"} {
		for _, who := range []string{"", "viewer", "admin"} {
			a := h.do(t.Context(), t, who, "GET", "/api/v1/organizations/blue/clusters", "", header, "system:admin")
			if a.status != http.StatusBadRequest {
				t.Errorf("%s as %q: %d %s", header, who, a.status, a.body)
			}
		}
	}
	for _, bearer := range []string{"", "Bearer", "Bearer ", "Basic YWRtaW46YWRtaW4=", "Bearer kqu_", "Bearer " + strings.Repeat("x", 30000), h.tokens["viewer"]} {
		a := h.do(t.Context(), t, "", "GET", "/api/v1/me", "", "Authorization", bearer)
		if a.status != http.StatusUnauthorized {
			t.Errorf("Authorization %.20q: %d %s", bearer, a.status, a.body)
		}
	}
}

// TestNamesThatLeadElsewhere: a name with a slash is the name of nothing.
func TestNamesThatLeadElsewhere(t *testing.T) {
	h := newFixture(t)
	const at = "/api/v1/organizations/blue/"
	for _, ask := range [][2]string{
		{"GET", at + "clusters/..%2F..%2Forg-red%2Fclusters%2Fx"}, {"GET", at + "clusters/a%2Fb"}, {"GET", at + "clusters/%2e%2e%2f"}, {"GET", at + "machines/a%25b"},
		{"DELETE", at + "nodepools/a%2Fstatus"}, {"GET", "/api/v1/organizations/blue%2F..%2Fred"}, {"POST", at + "clusters/a%2Fb/breakglass"}, {"GET", "/api/v1/releases/a%2Fb"},
	} {
		if a := h.do(t.Context(), t, "admin", ask[0], ask[1], "", "If-Match", "*"); a.status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", ask[0], ask[1], a.status, a.body)
		}
	}
}
