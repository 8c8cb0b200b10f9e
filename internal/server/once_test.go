package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

func TestDryRun(t *testing.T) {
	h := newFixture(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	a := h.do(t.Context(), t, "operator", "POST", clusters+"?dryRun=true", `{"name":"dry","spec":{"version":"v1.36.3"}}`)
	if o := a.object(t); a.status != http.StatusCreated || !strings.Contains(string(o.Spec), "podCIDR") {
		t.Errorf("what would be made has no defaults: %d %s", a.status, a.body)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Cluster"))
	if err := h.plane.Get(t.Context(), client.ObjectKey{Namespace: "org-blue", Name: "dry"}, o); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a dry run made it: %v", err)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"latest","network":{"podCIDR":"10.0.0.1/16"}}}`)
	var pointers []string
	for _, e := range a.problem(t).Errors {
		pointers = append(pointers, e.Pointer)
	}
	if got := strings.Join(pointers, " "); a.status != http.StatusUnprocessableEntity || got != "/spec/version" {
		t.Errorf("bad input: %d %q %s", a.status, got, a.body)
	}
	a = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"dry","spec":{"version":"v1.36.3","network":{"podCIDR":"10.0.0.1/16"}}}`)
	if p := a.problem(t); len(p.Errors) != 1 || p.Errors[0].Pointer != "/spec/network/podCIDR" || !strings.Contains(p.Errors[0].Detail, "no host bits") {
		t.Errorf("what only the API server can say: %d %s", a.status, a.body)
	}
}

func TestOnce(t *testing.T) {
	h := newFixture(t)
	const accounts, key = "/api/v1/organizations/blue/serviceaccounts", "Idempotency-Key"
	first := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	again := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1")
	if first.status != http.StatusCreated || again.status != first.status || !bytes.Equal(again.body, first.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("first %d %s\nagain %d %s", first.status, first.body, again.status, again.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"other","role":"viewer"}`, key, "k1"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the key with another body: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "admin", "POST", accounts, `{"name":"ci","role":"viewer"}`, key, "k1"); a.status != http.StatusConflict {
		t.Errorf("the key of another caller: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "owner", "POST", accounts, `{"name":"ci","role":"viewer"}`); a.status != http.StatusConflict {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	// What was refused has done nothing: it is decided anew.
	for range 2 {
		if a := h.do(t.Context(), t, "viewer", "POST", accounts, `{"name":"ci2","role":"viewer"}`, key, "k2"); a.status != http.StatusForbidden {
			t.Errorf("a viewer: %d %s", a.status, a.body)
		}
	}
	const clusters = "/api/v1/organizations/blue/clusters"
	if a := h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"once","spec":{"version":"latest"}}`, key, "k3"); a.status != http.StatusUnprocessableEntity {
		t.Errorf("bad input: %d %s", a.status, a.body)
	}
	first = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"once","spec":{"version":"v1.36.3"}}`, key, "k3")
	again = h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"once","spec":{"version":"v1.36.3"}}`, key, "k3")
	if first.status != http.StatusCreated || again.status != first.status || again.header.Get("ETag") != first.header.Get("ETag") ||
		again.header.Get("Location") != clusters+"/once" || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
		t.Errorf("first %d %v\nagain %d %v", first.status, first.header, again.status, again.header)
	}
	if diff := cmp.Diff(first.object(t), again.object(t)); diff != "" {
		t.Errorf("the object (-first +again)\n%s", diff)
	}
	a := h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"long","spec":{"version":"v1.36.3"}}`, key, strings.Repeat("x", 300))
	if a.status != http.StatusUnprocessableEntity || a.problem(t).Errors[0].Pointer != ":"+key {
		t.Errorf("a key that is too long: %d %s", a.status, a.body)
	}
}

// issue returns a token of a caller's, narrowed to a role in blue unless that is empty.
func (h *fixture) issue(t *testing.T, who, role string) string {
	t.Helper()
	return h.issued(t, who, role, access.NewToken{Name: "of " + who, Expires: time.Now().Add(time.Hour)})
}

// mint is issue for a token that makes others; it outlives those.
func (h *fixture) mint(t *testing.T, who, role string) string {
	t.Helper()
	return h.issued(t, who, role, access.NewToken{Name: "robot of " + who, Expires: time.Now().Add(2 * time.Hour), Mint: true})
}

func (h *fixture) issued(t *testing.T, who, role string, wanted access.NewToken) string {
	t.Helper()
	if role != "" {
		wanted.Scope = &access.Scope{Organization: "blue", Role: role}
	}
	by, err := h.access.Credentials.Authenticate(t.Context(), h.tokens[who])
	if err != nil {
		t.Fatal(err)
	}
	issued, err := h.access.Credentials.CreateToken(t.Context(), by, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Token.Reveal()
}

// TestOnceIsBound: an answer is given again to the session or token that got it, of the same account.
func TestOnceIsBound(t *testing.T) {
	h := newFixture(t)
	h.tokens["narrowed"], h.tokens["unscoped"] = h.issue(t, "owner", "viewer"), h.issue(t, "owner", "")
	const clusters, body, key = "/api/v1/organizations/blue/clusters", `{"name":"bound","spec":{"version":"v1.36.3"}}`, "Idempotency-Key"
	ask := func(who string) answer {
		return h.do(t.Context(), t, who, "POST", clusters, body, key, "bound")
	}
	for _, step := range []struct {
		who      string
		status   int
		replayed string
	}{
		{"owner", http.StatusCreated, ""}, {"owner", http.StatusCreated, "true"},
		{"narrowed", http.StatusForbidden, ""}, {"unscoped", http.StatusConflict, ""}, {local, http.StatusConflict, ""},
	} {
		if a := ask(step.who); a.status != step.status || a.header.Get("Idempotency-Replayed") != step.replayed {
			t.Errorf("as %s: %d (replayed %q), want %d: %s", step.who, a.status, a.header.Get("Idempotency-Replayed"), step.status, a.body)
		}
	}
	// A user who is created again under the same name gets nothing of the former one's.
	twin := access.NewUser{Name: "twin", Password: secret, Admin: true}
	for life, want := range []int{http.StatusCreated, http.StatusConflict} {
		if _, err := h.access.Users.Create(t.Context(), twin); err != nil {
			t.Fatal(err)
		}
		issued, err := h.access.Passwords.SignIn(t.Context(), "twin", secret, access.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		h.tokens["twin"] = issued.Token.Reveal()
		if a := h.do(t.Context(), t, "twin", "POST", "/api/v1/users", `{"name":"made-by-twin"}`, key, "k"); a.status != want {
			t.Errorf("life %d: %d, want %d: %s", life, a.status, want, a.body)
		}
		if err := h.access.Users.Delete(t.Context(), "twin"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnceIsAuthorized: what a caller may do no more is not answered from what is kept either.
func TestOnceIsAuthorized(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const clusters, key = "/api/v1/organizations/green/clusters", "Idempotency-Key"
	create := func(who, name string) answer {
		return h.do(t.Context(), t, who, "POST", clusters+"?dryRun=true", `{"name":"`+name+`","spec":{"version":"v1.36.3"}}`, key, name)
	}
	member := func(method, body string) {
		t.Helper()
		a := h.do(t.Context(), t, "owner", method, "/api/v1/organizations/green/members/user:operator", body)
		if a.status >= http.StatusBadRequest {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	member("PUT", `{"role":"operator"}`)
	h.await(t, func() bool { return create("operator", "member").status == http.StatusCreated })
	if a := create("operator", "member"); a.header.Get("Idempotency-Replayed") != "true" {
		t.Fatalf("it is not kept: %d %s", a.status, a.body)
	}
	member("PUT", `{"role":"viewer"}`)
	h.await(t, func() bool { return create("operator", "member").status == http.StatusForbidden })
	member("DELETE", "")
	h.await(t, func() bool { return create("operator", "member").status == http.StatusNotFound })

	// A service account follows its role.
	if _, err := h.access.ServiceAccounts.Create(t.Context(), "ci", "", access.Scope{Organization: "green", Role: "operator"}); err != nil {
		t.Fatal(err)
	}
	issued, err := h.access.ServiceAccounts.CreateToken(t.Context(), "green", "ci", access.NewToken{Name: "t", Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	h.tokens["ci"] = issued.Token.Reveal()
	if a := create("ci", "program"); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if err := h.access.ServiceAccounts.SetRole(t.Context(), "green", "ci", "viewer"); err != nil {
		t.Fatal(err)
	}
	if a := create("ci", "program"); a.status != http.StatusForbidden {
		t.Errorf("with a lower role: %d %s", a.status, a.body)
	}
}

// TestOnceIsRecorded: the audit log has each request, also one that is answered from what is kept.
func TestOnceIsRecorded(t *testing.T) {
	h := newFixture(t)
	for range 2 {
		a := h.do(t.Context(), t, "admin", "POST", "/api/v1/users", `{"name":"recorded"}`, "Idempotency-Key", "k")
		if a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "create", ObjectName: "recorded", OldestFirst: true})
	var got []string
	for _, r := range page.Records {
		got = append(got, fmt.Sprintf("%s %s %q", r.Actor.Name, r.Outcome, r.Detail["replayed"]))
	}
	want := []string{`admin succeeded ""`, `admin succeeded "true"`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the audit log (-want +got), %v\n%s", err, diff)
	}
	if _, err := h.db.ExecContext(t.Context(), `DROP TRIGGER audit_head_update; UPDATE audit_head SET hash = 'forged'`); err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "admin", "POST", "/api/v1/users", `{"name":"recorded"}`, "Idempotency-Key", "k")
	if a.status != http.StatusServiceUnavailable {
		t.Errorf("an answer without a record: %d %s", a.status, a.body)
	}
}

// TestOnceKeepsNoSecret: a token is made once, and its secret is not given again; the answer says which one it is.
func TestOnceKeepsNoSecret(t *testing.T) {
	h := newFixture(t)
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	account := someAccount(t, h, 1)["serviceAccount"]
	for name, ask := range map[string]struct{ who, path, list string }{
		"User":           {"viewer", "/api/v1/me/tokens", "/api/v1/me/credentials"},
		"ServiceAccount": {"owner", "/api/v1/organizations/blue/serviceaccounts/" + account + "/tokens", "/api/v1/organizations/blue/serviceaccounts/" + account + "/tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"name":"made-once","expiresAt":%q}`, expires)
			a := h.do(t.Context(), t, ask.who, "POST", ask.path, body, "Idempotency-Key", "k")
			var issued rest.Issued
			if err := json.Unmarshal(a.body, &issued); err != nil || a.status != http.StatusCreated {
				t.Fatalf("%d %s", a.status, a.body)
			}
			a = h.do(t.Context(), t, ask.who, "POST", ask.path, body, "Idempotency-Key", "k")
			p := a.problem(t)
			if a.status != http.StatusConflict || p.Code != rest.CodeDone || p.Retryable || !strings.Contains(p.Detail, issued.ID) || strings.Contains(string(a.body), issued.Token) {
				t.Errorf("again: %d %s", a.status, a.body)
			}
			a = h.do(t.Context(), t, ask.who, "GET", ask.list, "")
			if n := strings.Count(string(a.body), "made-once"); n != 1 {
				t.Errorf("%d tokens are there: %s", n, a.body)
			}
		})
	}
	// What takes no key is done again.
	user := someUser(t, h, 2)["user"]
	var tokens []string
	for range 2 {
		a := h.do(t.Context(), t, "admin", "POST", "/api/v1/users/"+user+"/reset", "", "Idempotency-Key", "k")
		var once rest.OneTime
		if err := json.Unmarshal(a.body, &once); err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		tokens = append(tokens, once.Token)
	}
	for i, want := range []int{http.StatusUnauthorized, http.StatusNoContent} {
		a := h.do(t.Context(), t, "", "POST", "/api/v1/password", fmt.Sprintf(`{"token":%q,"password":"went through the glass"}`, tokens[i]))
		if a.status != want {
			t.Errorf("one-time token %d: %d, want %d: %s", i, a.status, want, a.body)
		}
	}
}

// TestMatrixOfKeys: each POST of the document takes a key or takes none, and says so; no answer that is kept has a secret.
func TestMatrixOfKeys(t *testing.T) {
	h := newFixture(t)
	want := map[string]chain.Repeat{
		"createOrganization": chain.Replayed, "createProvisioner": chain.Replayed, "createCluster": chain.Replayed, "createNodePool": chain.Replayed,
		"createIdentityProvider": chain.Replayed, "createBackupStore": chain.Replayed, "createBackup": chain.Replayed, "createBackupSchedule": chain.Replayed, "createRestore": chain.Replayed, "createUpgrade": chain.Replayed, "createRehearsal": chain.Replayed, "createRotation": chain.Replayed, "createUser": chain.Replayed, "createServiceAccount": chain.Replayed,
		"createToken": chain.Named, "createServiceAccountToken": chain.Named,
		// A credential or token of these is another one each time, or what there is already.
		"issueCredential": "", "issueKubeconfig": "", "breakGlass": "", "createJoinToken": "", "createAgentToken": "", "resetUser": "",
		"revokeUser": "", "signOut": "", "changePassword": "", "answerDevice": "", "verifyAudit": "", "searchInventoryContainers": "",
		// Callers of these are not known yet.
		"setUp": "", "signIn": "", "choosePassword": "", "startDevice": "", "pollDevice": "", "exchangeCode": "",
	}
	got := map[string]chain.Repeat{}
	schemas := h.api.OpenAPI().Components.Schemas
	for path, item := range h.api.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			repeat, documented := chain.RepeatOf(o), false
			for _, p := range o.Parameters {
				documented = documented || p.Name == "Idempotency-Key" && p.In == "header"
			}
			if o.Method == http.MethodPost {
				got[o.OperationID] = repeat
			} else if repeat != "" {
				t.Errorf("%s %s takes a key", o.Method, path)
			}
			if documented != (repeat != "") {
				t.Errorf("%s: the document has the key: %t", o.OperationID, documented)
			}
			for status, response := range o.Responses {
				for _, media := range response.Content {
					if secret := secretIn(schemas, media.Schema); secret != "" && repeat == chain.Replayed {
						t.Errorf("%s: what is kept of %s has the secret %s", o.OperationID, status, secret)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what takes a key (-want +got)\n%s", diff)
	}
	issued := h.api.OpenAPI().Paths["/api/v1/me/tokens"].Post.Responses["201"].Content["application/json"].Schema
	if secretIn(schemas, issued) == "" {
		t.Error("the search sees no secret in a new token")
	}
}

// secretIn returns the name of a field of a schema that holds a secret; empty when there is none.
func secretIn(schemas huma.Registry, s *huma.Schema) string {
	for s != nil && s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return ""
	}
	for name, property := range s.Properties {
		if property.Format == "password" {
			return name
		}
		if found := secretIn(schemas, property); found != "" {
			return found
		}
	}
	return secretIn(schemas, s.Items)
}
