package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// age makes every session one whose user signed in long ago.
func (h *fixture) age(t *testing.T) {
	t.Helper()
	if _, err := h.db.ExecContext(t.Context(), `UPDATE access_credentials SET proved = 1`); err != nil {
		t.Fatal(err)
	}
}

// lowest is who may what is allowed from there on.
func lowest(from string) string {
	switch from {
	case signedIn:
		return "viewer"
	case adminOnly:
		return "admin"
	}
	return from
}

// TestMatrixOfFreshSessions asks every operation with a session that is not fresh, with tokens and on the local socket: what
// makes what lets a caller in wants a user who has just signed in, or of some of it a token that mints, and nothing else does.
func TestMatrixOfFreshSessions(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	for _, who := range []string{"viewer", "developer", "operator", "owner", "admin"} {
		h.tokens["token of "+who], h.tokens["robot of "+who] = h.issue(t, who, ""), h.mint(t, who, "")
	}
	h.age(t)
	known, n := matrix(), 10_000
	for path, item := range h.api.OpenAPI().Paths {
		for _, o := range chain.OperationsOf(item) {
			r := known[o.OperationID]
			if r.from == everyone || o.OperationID == "signOut" {
				continue
			}
			ask := func(who string) answer {
				n++
				at, body, headers := h.request(t, r, o.Method, path, n)
				return h.do(t.Context(), t, who, o.Method, at, body, headers...)
			}
			who := lowest(r.from)
			a := ask(who)
			if stale := strings.Contains(string(a.body), rest.CodeNeedsFresh); stale != r.fresh || r.fresh && a.status != http.StatusUnauthorized {
				t.Errorf("%s as %s, who signed in long ago: %d %s", o.OperationID, who, a.status, a.body)
			}
			if !r.fresh {
				continue
			}
			if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_user_authentication"`) || !strings.Contains(got, "max_age=900") {
				t.Errorf("%s: the challenge is %q", o.OperationID, got)
			}
			if a := ask("token of " + who); a.status != http.StatusForbidden {
				t.Errorf("%s with a token of %s: %d %s", o.OperationID, who, a.status, a.body)
			}
			if a := ask("robot of " + who); (a.status >= http.StatusBadRequest) == r.mint || !r.mint && a.status != http.StatusForbidden {
				t.Errorf("%s with a token of %s that mints: %d %s", o.OperationID, who, a.status, a.body)
			}
			if a := ask(local); !r.account && (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) {
				t.Errorf("%s as the owner of the machine: %d %s", o.OperationID, a.status, a.body)
			}
		}
	}
}

// TestFreshSession: of changes those need a fresh session that let a caller in, and signing in again makes one.
func TestFreshSession(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	d := h.device(t)
	h.age(t)
	const patch, organizations, green = "PATCH", "/api/v1/organizations", "/api/v1/organizations/green"
	user := "/api/v1/users/" + someUser(t, h, 1)["user"]
	account := "/api/v1/organizations/blue/serviceaccounts/" + someAccount(t, h, 1)["serviceAccount"]
	for _, tc := range []struct {
		who, method, path, body string
		want                    int
	}{
		{"admin", patch, user, `{"admin":true}`, 401}, {"admin", patch, user, `{"disabled":true}`, 200}, {"admin", patch, user, `{"disabled":false}`, 401},
		{"admin", patch, user, `{"admin":false}`, 200}, {"admin", "DELETE", user, "", 204},
		{"owner", patch, account, `{"role":"owner"}`, 401}, {"owner", patch, account, `{"disabled":true}`, 200}, {"owner", patch, account, `{"disabled":false}`, 401},
		{"owner", "PUT", green + "/members/user:eve", `{"role":"viewer"}`, 401}, {"owner", "PUT", green + "/members/group:viewer", `{"role":"viewer"}`, 401},
		{"owner", "PUT", green + "/members/user:viewer", `{"role":"developer"}`, 401}, {"owner", "PUT", green + "/members/user:viewer", `{"role":"viewer"}`, 200},
		{"owner", patch, green, `{"spec":{"members":[{"user":"owner","role":"owner"},{"user":"viewer","role":"operator"}]}}`, 401},
		{"owner", "PUT", green, `{"spec":{"members":[{"user":"owner","role":"owner"},{"user":"eve","role":"viewer"}]}}`, 401},
		{"viewer", "PUT", green, `{"spec":{"members":[{"user":"owner","role":"owner"},{"user":"eve","role":"viewer"}]}}`, 403},
		{"owner", patch, green, `{"spec":{"displayName":"Green"}}`, 200},
		{"owner", "PUT", green, `{"spec":{"members":[{"user":"owner","role":"owner"}]}}`, 200},
		{"owner", "PUT", green + "/members/user:viewer", `{"role":"viewer"}`, 401}, {"owner", "DELETE", green + "/members/user:viewer", "", 204},
		{"admin", "POST", organizations + "?dryRun=true", `{"name":"grey","spec":{"members":[{"user":"eve","role":"viewer"}]}}`, 401},
		{"admin", "POST", organizations + "?dryRun=true", `{"name":"grey","spec":{"displayName":"Grey"}}`, 201},
		{"viewer", "POST", answers, fmt.Sprintf(`{"userCode":%q,"approve":true}`, d.UserCode), 401},
		{"viewer", "POST", answers, fmt.Sprintf(`{"userCode":%q,"approve":false}`, d.UserCode), 204},
	} {
		headers := []string{"If-Match", "*"}
		if tc.method == patch {
			headers = append(headers, "Content-Type", "application/merge-patch+json")
		}
		a := h.do(t.Context(), t, tc.who, tc.method, tc.path, tc.body, headers...)
		if a.status != tc.want || tc.want == 401 && a.problem(t).Code != rest.CodeNeedsFresh {
			t.Errorf("%s %s %s: %d, want %d: %s", tc.method, tc.path, tc.body, a.status, tc.want, a.body)
		}
	}
	a := h.do(t.Context(), t, "", "POST", "/api/v1/signin", fmt.Sprintf(`{"name":"admin","password":%q}`, secret))
	var issued rest.Issued
	if err := json.Unmarshal(a.body, &issued); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	h.tokens["again"] = issued.Token
	if a := h.do(t.Context(), t, "again", "POST", "/api/v1/users", `{"name":"made-fresh"}`); a.status != http.StatusCreated {
		t.Errorf("after signing in again: %d %s", a.status, a.body)
	}
}

// TestTokensSeeThemselves: a token, narrowed or not, lists and ends itself, and no other credential of its owner.
func TestTokensSeeThemselves(t *testing.T) {
	h := newFixture(t)
	const at = "/api/v1/me/credentials"
	list := func(who string) (ids []string) {
		a := h.do(t.Context(), t, who, "GET", at, "")
		var page rest.Page[rest.Credential]
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK || page.Cursor != "" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, c := range page.Items {
			ids = append(ids, c.ID)
		}
		return ids
	}
	own := func(who string) string {
		by, err := h.access.Credentials.Authenticate(t.Context(), h.tokens[who])
		if err != nil {
			t.Fatal(err)
		}
		return by.Credential.ID
	}
	h.tokens["narrowed"], h.tokens["unscoped"] = h.issue(t, "owner", "viewer"), h.issue(t, "owner", "")
	account := someAccount(t, h, 1)["serviceAccount"]
	for _, name := range []string{"program", "other program"} {
		issued, err := h.access.ServiceAccounts.CreateToken(t.Context(), "blue", account, access.NewToken{Name: "t", Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		h.tokens[name] = issued.Token.Reveal()
	}
	if got := list("owner"); len(got) != 3 {
		t.Errorf("a session sees %v", got)
	}
	for _, who := range []string{"narrowed", "unscoped", "program"} {
		if got := list(who); len(got) != 1 || got[0] != own(who) {
			t.Errorf("%s sees %v", who, got)
		}
		for _, other := range []string{"owner", "other program"} {
			if a := h.do(t.Context(), t, who, "DELETE", at+"/"+own(other), ""); a.status != http.StatusNotFound {
				t.Errorf("%s ends that of %s: %d %s", who, other, a.status, a.body)
			}
		}
		if a := h.do(t.Context(), t, who, "DELETE", at+"/"+own(who), ""); a.status != http.StatusNoContent {
			t.Errorf("%s ends itself: %d %s", who, a.status, a.body)
		}
	}
	if got := list("owner"); len(got) != 1 {
		t.Errorf("a session sees %v afterwards", got)
	}
}

// TestBrowserSignsInAgain: a browser whose user signed in long ago asks for the password before it lets a device or a
// command line in.
func TestBrowserSignsInAgain(t *testing.T) {
	h := newFixture(t)
	front := h.front(t)
	b := newBrowser(t, front)
	for _, page := range []string{"/device", newCommand().page()} {
		b = newBrowser(t, front)
		b.signIn("viewer")
		if s := b.get(page); s.status != http.StatusOK {
			t.Fatalf("%s: %d %s", page, s.status, s.location())
		}
		h.age(t)
		s := b.get(page)
		if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location(), "/signin?next=") {
			t.Fatalf("%s: %d %s", page, s.status, s.location())
		}
		s = b.get(s.location())
		if s.status != http.StatusOK || !strings.Contains(s.body, "Sign in again") {
			t.Fatalf("%s: %d %s", page, s.status, s.body)
		}
		s = b.submit("/signin", "name", "viewer", "password", secret, "next", page)
		if s.status != http.StatusSeeOther || b.get(s.location()).status != http.StatusOK {
			t.Errorf("%s: %d %s", page, s.status, s.location())
		}
	}
	b.get("/device")
	h.age(t)
	if s := b.submit("/device", "user_code", h.device(t).UserCode, "answer", "approve"); s.status != http.StatusUnauthorized {
		t.Errorf("a form that was open for long: %d %s", s.status, s.body)
	}
}
