package server

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/pages"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

var update = flag.Bool("update", false, "write golden files")

const goodAuthorize = "/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&state=st-1&code_challenge_method=S256" +
	"&code_challenge=E9Melhoa2OwvFrEMTJGuCHaoeK1t8URWbuGJSstw-cM&client=kqueen+on+build-7"

// TestPages compares what a browser is shown, and holds each page against the rules that all follow.
func TestPages(t *testing.T) {
	h := newFixture(t)
	front := h.front(t)
	code := func(b *browser) string {
		start, err := h.access.Devices.Start(t.Context(), access.Origin{Client: "kqueen on <build-7>"})
		if err != nil {
			b.t.Fatal(err)
		}
		return start.UserCode
	}
	tests := map[string]struct {
		as     string
		look   func(b *browser) sight
		status int
	}{
		"SignIn":   {"", func(b *browser) sight { return b.get("/signin?next=%2Fdevice%3Fuser_code%3DAB") }, 200},
		"SignedIn": {"viewer", func(b *browser) sight { return b.get("/signin") }, 200},
		"Wrong": {"", func(b *browser) sight {
			b.get("/signin")
			return b.submit("/signin", "name", "viewer", "password", "x")
		}, 401},
		"Device":    {"viewer", func(b *browser) sight { return b.get("/device?user_code=%3Cb%3EWDJB") }, 200},
		"NoDevice":  {"viewer", func(b *browser) sight { b.get("/device"); return b.submit("/device", "user_code", "BBBB-BBBB") }, 404},
		"AskDevice": {"viewer", func(b *browser) sight { b.get("/device"); return b.submit("/device", "user_code", code(b)) }, 200},
		"Approved": {"viewer", func(b *browser) sight {
			b.get("/device")
			return b.submit("/device", "user_code", code(b), "answer", "approve")
		}, 200},
		"Denied": {"viewer", func(b *browser) sight {
			b.get("/device")
			return b.submit("/device", "user_code", code(b), "answer", "deny")
		}, 200},
		"Authorize": {"viewer", func(b *browser) sight { return b.get(goodAuthorize) }, 200},
		"BadPage":   {"viewer", func(b *browser) sight { return b.get("/authorize?redirect_uri=https%3A%2F%2Fevil.example.com") }, 422},
		"Setup":     {"", func(b *browser) sight { return b.get("/setup?token=kq1_%3Cb%3E") }, 200},
		"NoSetup": {"", func(b *browser) sight {
			b.get("/setup")
			return b.submit("/setup", "token", "kq1_none", "name", "a\"b", "password", "one", "repeated", "two")
		}, 422},
		"Welcome":   {"", func(b *browser) sight { return b.get("/welcome?token=kq1_none") }, 200},
		"LongToken": {"", func(b *browser) sight { return b.get("/welcome?token=" + strings.Repeat("x", 201)) }, 400},
		"Forged":    {"", func(b *browser) sight { return b.submit("/signin") }, 403},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, front)
			if tc.as != "" {
				b.signIn(tc.as)
			}
			s := tc.look(b)
			if s.status != tc.status {
				t.Errorf("%d, want %d", s.status, tc.status)
			}
			golden(t, "pages/"+name+".html", s.body, s.header.Get("X-Request-ID"))
			followsRules(t, s)
		})
	}
}

// followsRules: no page runs anything, shows anything of others, or is shown within another one.
func followsRules(t *testing.T, s sight) {
	t.Helper()
	policy := s.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q does not say %q", policy, want)
		}
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Type": "text/html; charset=utf-8", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := s.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	body := strings.NewReplacer("http://127.0.0.1:4711/callback", "", "http://127.0.0.1:PORT/", "", "http://[::1]:PORT/", "").Replace(s.body)
	for _, never := range []string{"<script", "style=", "javascript:", "http://", "https://", "<b>", "<build-7>"} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, id := range inputs.FindAllStringSubmatch(s.body, -1) {
		if !strings.Contains(s.body, `<label for="`+id[1]+`">`) {
			t.Errorf("the field %s has no label", id[1])
		}
	}
}

var (
	inputs    = regexp.MustCompile(`<input id="([^"]+)"`)
	userCodes = regexp.MustCompile(`[B-Z]{4}-[B-Z]{4}"|<dd>[B-Z]{4}-[B-Z]{4}`)
)

// golden compares a page, without what differs from time to time.
func golden(t *testing.T, name, got, requestID string) {
	t.Helper()
	got = proofs.ReplaceAllString(got, `action="$1"> PROOF`)
	got = userCodes.ReplaceAllString(strings.ReplaceAll(got, requestID, "REQUEST"), "CODE-CODE")
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestMatrixOfPages asks every page without and with a session, and sends every form as no page of ours would.
func TestMatrixOfPages(t *testing.T) {
	h := newFixture(t)
	front := h.front(t)
	// What a browser gets without and with a session that asks, or sends the form of a page of ours without a field.
	want := map[string][2]int{
		"GET /signin": {200, 200}, "POST /signin": {401, 401}, "POST /signout": {303, 303},
		"GET /signin/{provider}": {404, 404}, "GET /signin/{provider}/callback": {401, 401},
		"GET /device": {303, 200}, "POST /device": {401, 404},
		"GET /setup": {200, 200}, "POST /setup": {401, 401}, "GET /welcome": {200, 200}, "POST /welcome": {401, 401},
		"GET /authorize": {303, 200}, "POST /authorize": {422, 422},
	}
	for _, pattern := range pages.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{provider}", "none")
		expected, ok := want[pattern]
		if !ok {
			t.Errorf("%s is not in the matrix: say who may", pattern)
		}
		for i, who := range []string{"", "viewer"} {
			t.Run(pattern+" as "+who, func(t *testing.T) {
				b := newBrowser(t, front)
				if who != "" {
					b.signIn(who)
				}
				b.get("/signin") // has the forms that every browser may send
				var s sight
				switch {
				case method == http.MethodPost:
					b.last.body += b.proofs(h, path)
					s = b.submit(path)
				case path == "/authorize":
					s = b.get(goodAuthorize)
				default:
					s = b.get(path)
				}
				if s.status != expected[i] {
					t.Errorf("%d, want %d: %s", s.status, expected[i], s.body)
				}
				if method == http.MethodPost {
					b.forge(path)
				}
			})
		}
	}
}

// proofs is a form of ours that is not on the page that is shown.
func (b *browser) proofs(h *fixture, path string) string {
	credential := ""
	if session := b.cookie(chain.SessionCookie); session != "" {
		identity, err := h.access.Credentials.Authenticate(b.t.Context(), session)
		if err != nil {
			b.t.Fatal(err)
		}
		credential = identity.Credential.ID
	}
	return `action="` + path + `"><input type="hidden" name="proof" value="` + pages.Proof(h.key, b.cookie(pages.FormCookie), credential, path) + `">`
}

// forge sends a form as another site would, or with a proof that is not this one's.
func (b *browser) forge(path string) {
	b.t.Helper()
	good := b.last
	for what, change := range map[string]func(){
		"from another site":       func() { b.origin = "https://evil.example.com" },
		"from a plain one":        func() { b.origin = strings.Replace(b.base, "https", "http", 1) },
		"from nowhere":            func() { b.origin = "" },
		"from null":               func() { b.origin = "null" },
		"by a cross-site request": func() { b.site = "cross-site" },
		"by a same-site one":      func() { b.site = "same-site" },
		"without a proof":         func() { b.last.body = "" },
		"with a wrong proof":      func() { b.last.body = strings.ReplaceAll(b.last.body, `value="`, `value="A`) },
		"of another browser":      func() { b.give(pages.FormCookie, "AAAAAAAAAAAAAAAAAAAAAAAAAA") },
	} {
		change()
		if s := b.submit(path, "name", "viewer", "password", secret, "user_code", "BBBB-BBBB", "answer", "approve"); s.status != http.StatusForbidden {
			b.t.Errorf("POST %s %s: %d %s", path, what, s.status, s.body)
		}
		b.origin, b.site, b.last = b.base, "same-origin", good
	}
}

// TestNextOfPages: signing in leads to pages of ours and nowhere else.
func TestNextOfPages(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	const evil = "https://evil.example.com/"
	if s := b.get("/signin?" + url.Values{"next": {evil}}.Encode()); s.status != http.StatusBadRequest || strings.Contains(s.body, evil) {
		t.Errorf("GET /signin: %d %s", s.status, s.body)
	}
	b.get("/signin")
	if s := b.submit("/signin", "name", "viewer", "password", secret, "next", evil); s.status != http.StatusBadRequest || b.cookie(chain.SessionCookie) != "" {
		t.Errorf("POST /signin: %d %s", s.status, s.location())
	}
	b.get("/signin?next=%2Fdevice%3Fuser_code%3DAB")
	if s := b.submit("/signin", "name", "viewer", "password", secret, "next", "/device?user_code=AB"); s.status != http.StatusSeeOther || s.location() != "/device?user_code=AB" {
		t.Errorf("POST /signin: %d %s", s.status, s.location())
	}
}

// TestProviderOfFlow: a user who names a provider is sent there at once, and back to the page afterwards.
func TestProviderOfFlow(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	for _, page := range []string{goodAuthorize + "&provider=corp", "/device?provider=corp"} {
		s := b.get(page)
		u, err := url.Parse(s.location())
		if err != nil || u.Path != "/signin/corp" {
			t.Fatalf("%s: %d %s", page, s.status, s.location())
		}
		if next := u.Query().Get("next"); !strings.HasPrefix(next, page[:7]) {
			t.Errorf("%s: afterwards %q", page, next)
		}
	}
	if s := b.get("/device?provider=" + url.QueryEscape("../../api/v1/x?y=")); !strings.HasPrefix(s.location(), "/signin?next=") {
		t.Errorf("a provider that is a path: %s", s.location())
	}
}

// TestSessionOfPages: the cookie opens pages and nothing else, and ends when its owner leaves or is disabled.
func TestSessionOfPages(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	b.get("/signin")
	s := b.submit("/signin", "name", "viewer", "password", secret)
	given := s.header.Values("Set-Cookie")
	if len(given) != 1 || !strings.HasPrefix(given[0], chain.SessionCookie+"=kqu_") {
		t.Fatalf("the cookies are %q", given)
	}
	for _, want := range []string{"; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		if !strings.Contains(given[0], want) || strings.Contains(given[0], "Domain") {
			t.Errorf("the cookie %q has no %q", given[0], want)
		}
	}
	if a := b.get("/api/v1/me"); a.status != http.StatusUnauthorized {
		t.Errorf("REST takes a cookie: %d", a.status)
	}
	session := b.cookie(chain.SessionCookie)
	b.get("/signin")
	if s := b.submit("/signout"); s.status != http.StatusSeeOther || b.cookie(chain.SessionCookie) != "" {
		t.Errorf("sign out: %d, the cookie is %q", s.status, b.cookie(chain.SessionCookie))
	}
	b.give(chain.SessionCookie, session)
	if s := b.get("/device"); s.status != http.StatusSeeOther {
		t.Errorf("a session that was ended: %d", s.status)
	}
	// A token of a program opens no page.
	b.give(chain.SessionCookie, apiToken(t, h))
	if s := b.get("/device"); s.status != http.StatusSeeOther {
		t.Errorf("an API token as a cookie: %d", s.status)
	}
	b.signIn("viewer")
	b.get(goodAuthorize)
	if err := h.access.Users.Disable(t.Context(), "viewer"); err != nil {
		t.Fatal(err)
	}
	if s := b.submit("/authorize", "answer", "approve"); s.status != http.StatusForbidden && s.status != http.StatusUnauthorized {
		t.Errorf("a disabled user approves: %d %s", s.status, s.location())
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, OldestFirst: true})
	var got []string
	for _, r := range page.Records {
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Actor.Kind, r.Action, r.Object.Name, r.Outcome))
	}
	want := []string{"anonymous sign-in viewer succeeded", "user sign-out  succeeded", "anonymous sign-in viewer succeeded", "anonymous authorize  denied"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the audit log (-want +got), %v:\n%s", err, diff)
	}
}

func apiToken(t *testing.T, h *fixture) string {
	t.Helper()
	return h.issue(t, "viewer", "")
}

// TestLockOfPages: who guesses by the form has to wait as everywhere.
func TestLockOfPages(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	status := 0
	for range 6 {
		b.get("/signin")
		s := b.submit("/signin", "name", "viewer", "password", "wrong")
		if status = s.status; status == http.StatusTooManyRequests && s.header.Get("Retry-After") == "" {
			t.Error("it does not say when to come again")
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the sixth wrong password: %d", status)
	}
	if s := b.get("/pages.css"); s.status != http.StatusOK || !strings.HasPrefix(s.header.Get("Content-Type"), "text/css") {
		t.Errorf("the style sheet: %d %s", s.status, s.header.Get("Content-Type"))
	}
}

// TestWelcome: a link with a one-time token leads to a password, and the first administrator into the portal. Looking at a link uses
// nothing up, and a token is good once.
func TestWelcome(t *testing.T) {
	h := newFixture(t)
	front := h.front(t)
	const chosen = "a password that was chosen"
	reset, err := h.access.Passwords.Reset(t.Context(), "viewer")
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, front)
	for range 2 {
		b.get("/welcome?token=" + reset.Token.Reveal())
	}
	if s := b.submit("/welcome", "token", reset.Token.Reveal(), "password", "short", "repeated", "short"); s.status != http.StatusUnprocessableEntity || !strings.Contains(s.body, "password") {
		t.Errorf("a short password: %d %s", s.status, s.body)
	}
	for i, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} {
		b.get("/welcome")
		if s := b.submit("/welcome", "token", reset.Token.Reveal(), "password", chosen, "repeated", chosen); s.status != want {
			t.Errorf("attempt %d: %d, want %d: %s", i, s.status, want, s.body)
		}
	}
	b.get("/signin")
	if s := b.submit("/signin", "name", "viewer", "password", chosen); s.location() != "/portal/" {
		t.Errorf("sign in: %d %s", s.status, s.body)
	}
	recovery, err := h.access.Setup.RecoveryToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rescue := newBrowser(t, front)
	rescue.get("/setup?token=" + recovery.Token.Reveal())
	s := rescue.submit("/setup", "token", recovery.Token.Reveal(), "name", "rescue", "password", chosen, "repeated", chosen)
	if s.location() != "/portal/" || rescue.cookie(chain.SessionCookie) == "" {
		t.Errorf("the first administrator: %d %s", s.status, s.body)
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "set-up", Outcome: audit.Succeeded})
	if err != nil || len(page.Records) != 1 || page.Records[0].Object.Name != "rescue" {
		t.Errorf("the audit log has %+v, %v", page.Records, err)
	}
}
