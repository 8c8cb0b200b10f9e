package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/pages"
	"kqueen.io/kqueen/internal/tenancy/access/oidc/oidctest"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// corp is an identity provider that an administrator has added, and an organization whose viewers are a group of it.
type corp struct {
	*fixture
	t      *testing.T
	issuer *oidctest.Issuer
	// name of the provider, and the organization.
	name, organization string
	entrance           *httptest.Server
	b                  *browser
}

func newCorp(t *testing.T) *corp {
	t.Helper()
	c := &corp{fixture: newFixture(t), t: t, issuer: oidctest.New(t, time.Now), name: fmt.Sprintf("corp-%d", time.Now().UnixNano())}
	c.entrance = c.front(t)
	c.b = newBrowser(t, c.entrance)
	c.issuer.Claims = map[string]any{"email": "alice@example.com", "email_verified": true, "name": "Alice", "groups": []string{"devs"}}
	const providers = "/api/v1/identityproviders"
	spec, err := json.Marshal(map[string]any{
		"issuer": c.issuer.URL, "clientID": oidctest.ClientID, "caBundle": c.issuer.CA, "usernameClaim": "email",
		"groupsClaim": "groups", "adminGroups": []string{"platform"}, "displayName": "Example Corporation",
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.do(t.Context(), t, "admin", "POST", providers, fmt.Sprintf(`{"name":%q,"spec":%s}`, c.name, spec)); a.status != http.StatusCreated {
		t.Fatalf("add the provider: %d %s", a.status, a.body)
	}
	body := fmt.Sprintf(`{"secret":%q}`, oidctest.ClientSecret)
	a := c.do(t.Context(), t, "admin", "PUT", providers+"/"+c.name+"/secret", body)
	if a.status != http.StatusNoContent || len(a.body) > 0 {
		t.Fatalf("set the secret: %d %s", a.status, a.body)
	}
	o := &v1alpha1.Organization{
		ObjectMeta: metav1.ObjectMeta{Name: "o" + c.name[len(c.name)-12:]},
		Spec:       v1alpha1.OrganizationSpec{Members: []v1alpha1.Member{{Group: c.name + ":devs", Role: v1alpha1.RoleViewer}}},
	}
	for _, object := range []client.Object{o, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}}} {
		if err := c.plane.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := role.Keep(t.Context(), c.plane, role.Bindings(o)); err != nil {
		t.Fatal(err)
	}
	c.await(t, func() bool {
		_, err := identityprovider.Source{Providers: c.cached, Secrets: c.plane}.Get(t.Context(), c.name, c.b.base)
		return err == nil && c.cached.Get(t.Context(), client.ObjectKeyFromObject(o), &v1alpha1.Organization{}) == nil
	})
	c.organization = o.Name
	return c
}

// begin goes to the provider, agrees there, and returns the address at which the browser comes back.
func (c *corp) begin() string {
	c.t.Helper()
	s := c.b.get("/signin/" + c.name + "?next=%2Fdevice")
	if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location(), c.issuer.URL+"/authorize?") {
		c.t.Fatalf("begin: %d %s %s", s.status, s.location(), s.body)
	}
	return "/signin/" + c.name + "/callback?" + c.issuer.Browse(c.t, s.location()).Encode()
}

// TestProviderThroughTheAPI: a user signs in by an issuer, and the groups that it names are roles here.
func TestProviderThroughTheAPI(t *testing.T) {
	c := newCorp(t)
	if s := c.b.get("/signin?next=%2Fdevice"); !strings.Contains(s.body, `href="/signin/`+c.name+`?next=%2Fdevice">Example Corporation<`) {
		t.Errorf("the page does not offer it: %s", s.body)
	}
	var listed rest.Page[rest.Provider]
	a := c.do(t.Context(), t, "", "GET", "/api/v1/providers", "")
	if err := json.Unmarshal(a.body, &listed); err != nil || !strings.Contains(string(a.body), c.name) || strings.Contains(string(a.body), c.issuer.URL) {
		t.Errorf("listed: %d %s", a.status, a.body)
	}
	s := c.b.get(c.begin())
	if s.status != http.StatusSeeOther || s.location() != "/device" || c.b.cookie(pages.AttemptCookie) != "" {
		t.Fatalf("come back: %d %s %s", s.status, s.location(), s.body)
	}
	c.tokens["alice"] = c.b.cookie(chain.SessionCookie)
	if me := c.me(t, c.tokens["alice"]); me != c.name+":alice@example.com" {
		t.Errorf("it is %s", me)
	}
	clusters := "/api/v1/organizations/" + c.organization + "/clusters"
	if a := c.do(t.Context(), t, "alice", "GET", clusters, ""); a.status != http.StatusOK {
		t.Errorf("a viewer lists: %d %s", a.status, a.body)
	}
	if a := c.do(t.Context(), t, "alice", "POST", clusters, `{"name":"x","spec":{"version":"v1.36.3"}}`); a.status != http.StatusForbidden {
		t.Errorf("a viewer creates: %d %s", a.status, a.body)
	}
	if a := c.do(t.Context(), t, "alice", "GET", "/api/v1/organizations/blue/clusters", ""); a.status != http.StatusNotFound {
		t.Errorf("another user's: %d %s", a.status, a.body)
	}
	// Other groups at the next sign-in are other rights.
	c.issuer.Claims["groups"] = []string{"platform"}
	if s := c.b.get(c.begin()); s.status != http.StatusSeeOther {
		t.Errorf("once more: %d %s", s.status, s.body)
	}
	if a := c.do(t.Context(), t, "alice", "GET", "/api/v1/users", ""); a.status != http.StatusOK {
		t.Errorf("an administrator by a group: %d %s", a.status, a.body)
	}
	page, err := c.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "sign-in", OldestFirst: true})
	if err != nil || len(page.Records) != 2 || page.Records[0].Object.Name != c.name+":alice@example.com" || page.Records[0].Detail["by"] != c.name {
		t.Errorf("the audit log: %+v (%v)", page.Records, err)
	}
	// The secret goes in and does not come out.
	a = c.do(t.Context(), t, "admin", "GET", "/api/v1/identityproviders/"+c.name, "")
	if strings.Contains(string(a.body), oidctest.ClientSecret) || !strings.Contains(string(a.body), v1alpha1.AnnotationSecretSetAt) {
		t.Errorf("the provider: %s", a.body)
	}
	records, err := c.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "set-secret"})
	if err != nil || len(records.Records) != 1 || strings.Contains(fmt.Sprintf("%+v", records.Records), oidctest.ClientSecret) {
		t.Errorf("the audit log: %+v (%v)", records.Records, err)
	}
}

// TestProviderIsGone: without their provider its users are not known, and their streams end.
func TestProviderIsGone(t *testing.T) {
	c := newCorp(t)
	if s := c.b.get(c.begin()); s.status != http.StatusSeeOther {
		t.Fatalf("sign in: %d %s", s.status, s.body)
	}
	c.tokens["alice"] = c.b.cookie(chain.SessionCookie)
	clusters := "/api/v1/organizations/" + c.organization + "/clusters"
	if a := c.do(t.Context(), t, "alice", "GET", clusters, ""); a.status != http.StatusOK {
		t.Fatalf("a viewer lists: %d %s", a.status, a.body)
	}
	stream := c.events(t, "alice", clusters+"?watch=true")
	next(t, stream, "bookmark")
	if a := c.do(t.Context(), t, "admin", "DELETE", "/api/v1/identityproviders/"+c.name, "", "If-Match", "*"); a.status != http.StatusAccepted {
		t.Fatalf("delete the provider: %d %s", a.status, a.body)
	}
	c.await(t, func() bool {
		return c.do(t.Context(), t, "alice", "GET", clusters, "").status == http.StatusUnauthorized
	})
	next(t, stream, "problem")
}

// TestProviderRefusals: what a provider says that is not right, and what it was not asked for, signs no user in.
func TestProviderRefusals(t *testing.T) {
	c := newCorp(t)
	claim := func(name string, value any) func() { return func() { c.issuer.Claims[name] = value } }
	for what, change := range map[string]func(){
		"the audience":  claim("aud", "other"),
		"the issuer":    claim("iss", "https://evil.example.com"),
		"expired":       claim("exp", time.Now().Add(-time.Hour).Unix()),
		"another nonce": claim("nonce", "other"),
		"no groups":     claim("groups", nil),
		"no name":       claim("email", ""),
		"unverified":    claim("email_verified", false),
		"no subject":    claim("sub", nil),
		"empty claims": func() {
			c.issuer.Sign = func([]byte) string { return oidctest.Compact(t, "ES256", c.issuer.Key().Key, "", []byte(`{}`)) }
		},
		"not signed": func() { c.issuer.Sign = func(p []byte) string { return oidctest.Compact(t, "", nil, "", p) } },
		"a code of HMAC": func() {
			c.issuer.Sign = func(p []byte) string {
				return oidctest.Compact(t, "HS256", []byte(oidctest.ClientSecret+strings.Repeat("x", 32)), "", p)
			}
		},
	} {
		good := maps.Clone(c.issuer.Claims)
		change()
		c.turnedAway(what, c.begin())
		c.issuer.Claims, c.issuer.Sign = good, nil
	}
	const want = 11
	page, err := c.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "sign-in"})
	if err != nil || len(page.Records) != want {
		t.Fatalf("the log has %d refusals (%v)", len(page.Records), err)
	}
	for _, r := range page.Records {
		if r.Outcome != audit.Denied || r.Detail["why"] == "" || strings.Contains(fmt.Sprint(r), oidctest.ClientSecret) {
			t.Errorf("the record is %+v", r)
		}
	}
}

// TestProviderAttempts: what begins in one browser is finished there, once, and where it was begun.
func TestProviderAttempts(t *testing.T) {
	c := newCorp(t)
	// The same code and state again, after they were good once.
	back := c.begin()
	attempt := c.b.cookie(pages.AttemptCookie)
	if s := c.b.get(back); s.status != http.StatusSeeOther {
		t.Fatalf("a good one: %d %s", s.status, s.body)
	}
	c.b.drop(chain.SessionCookie)
	c.b.give(pages.AttemptCookie, attempt)
	c.turnedAway("replayed", back)
	// Begun by another user: their link, in my browser.
	other := newBrowser(t, c.entrance)
	mine := c.b
	c.b = other
	back = c.begin()
	c.b = mine
	c.turnedAway("begun in another browser", back)
	c.begin()
	c.turnedAway("begun in another browser, while I begin", back)
	c.turnedAway("unsolicited", "/signin/"+c.name+"/callback?code=x&state=y")
	c.turnedAway("unsolicited and empty", "/signin/"+c.name+"/callback")
	back = c.begin()
	c.turnedAway("to the address of another provider", strings.Replace(back, c.name, "other", 1))
	u, err := url.Parse(c.begin())
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("iss", "https://evil.example.com")
	c.turnedAway("from another issuer", u.Path+"?"+q.Encode())
	c.begin()
	c.turnedAway("with an error", "/signin/"+c.name+"/callback?error=access_denied&state="+url.QueryEscape(q.Get("state")))
	// Where to go afterwards cannot be elsewhere.
	for _, next := range []string{"https://evil.example.com", "//evil.example.com", "/api/v1/me"} {
		if s := c.b.get("/signin/" + c.name + "?" + url.Values{"next": {next}}.Encode()); s.status != http.StatusBadRequest {
			t.Errorf("next=%s: %d %s", next, s.status, s.location())
		}
	}
	if s := c.b.get("/signin/none"); s.status != http.StatusNotFound {
		t.Errorf("a provider that is not there: %d", s.status)
	}
}

// turnedAway wants an address to sign no user in, and to tell no secret.
func (c *corp) turnedAway(what, address string) {
	c.t.Helper()
	s := c.b.get(address)
	if s.status != http.StatusUnauthorized || c.b.cookie(chain.SessionCookie) != "" {
		c.t.Errorf("%s: %d, the session is %q", what, s.status, c.b.cookie(chain.SessionCookie))
	}
	if strings.Contains(s.body, "marker-") || strings.Contains(s.body, "kq1_") {
		c.t.Errorf("%s: the page tells %s", what, s.body)
	}
}

// TestProviderOfDisabled: a user whom an administrator has disabled does not come back by the provider.
func TestProviderOfDisabled(t *testing.T) {
	c := newCorp(t)
	if s := c.b.get(c.begin()); s.status != http.StatusSeeOther {
		t.Fatalf("%d %s", s.status, s.body)
	}
	back := c.begin()
	if err := c.access.Users.Disable(t.Context(), c.name+":alice@example.com"); err != nil {
		t.Fatal(err)
	}
	if s := c.b.get("/device"); s.status != http.StatusSeeOther {
		t.Errorf("with the session before: %d", s.status)
	}
	c.b.drop(chain.SessionCookie)
	c.turnedAway("disabled on the way", back)
}

// TestProviderWithoutSecret signs no user in, and says so where an administrator looks.
func TestProviderWithoutSecret(t *testing.T) {
	c := newCorp(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.IdentityProviderSecretPrefix + c.name}}
	if err := c.plane.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if s := c.b.get("/signin/" + c.name); s.status != http.StatusUnauthorized || s.location() != "" {
		t.Errorf("%d %s", s.status, s.location())
	}
	page, err := c.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "sign-in"})
	if err != nil || len(page.Records) != 1 || !strings.Contains(page.Records[0].Detail["why"], "the client has no secret") {
		t.Errorf("%+v (%v)", page.Records, err)
	}
}
