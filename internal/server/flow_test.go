package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

const (
	devices = "/api/v1/device"
	poll    = "/api/v1/device/token"
	answers = "/api/v1/device/answer"
)

// device begins to sign one in.
func (h *fixture) device(t *testing.T) rest.DeviceAuthorization {
	t.Helper()
	a := h.send(t, devices, url.Values{"client_id": {"kqueen on build-7"}})
	var d rest.DeviceAuthorization
	if err := json.Unmarshal(a.body, &d); err != nil || a.status != http.StatusOK {
		t.Fatalf("begin: %d %s", a.status, a.body)
	}
	return d
}

// send sends a form, as OAuth clients do.
func (h *fixture) send(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	return h.do(t.Context(), t, "", "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// poll asks for a device's session, and returns the code of the error when there is none.
func (h *fixture) poll(t *testing.T, d rest.DeviceAuthorization) (rest.AccessToken, string) {
	t.Helper()
	// As if the device had waited.
	if _, err := h.db.ExecContext(t.Context(), `UPDATE access_devices SET polled = 0`); err != nil {
		t.Fatal(err)
	}
	return h.pollNow(t, d)
}

func (h *fixture) pollNow(t *testing.T, d rest.DeviceAuthorization) (issued rest.AccessToken, code string) {
	t.Helper()
	a := h.send(t, poll, url.Values{"client_id": {"kqueen"}, "grant_type": {rest.DeviceGrant}, "device_code": {d.DeviceCode}})
	if a.status != http.StatusOK {
		return issued, a.oauth(t)
	}
	if err := json.Unmarshal(a.body, &issued); err != nil {
		t.Fatal(err)
	}
	return issued, ""
}

// oauth is the code of an error as OAuth clients take it.
func (a answer) oauth(t *testing.T) string {
	t.Helper()
	var e rest.OAuthError
	if err := json.Unmarshal(a.body, &e); err != nil || a.status != http.StatusBadRequest || a.header.Get("Content-Type") != "application/json" ||
		e.Code == "" || e.Description == "" || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v is no error of OAuth: %s", a.status, a.header, a.body)
	}
	return e.Code
}

// me says whose a token is.
func (h *fixture) me(t *testing.T, token string) string {
	t.Helper()
	h.tokens["somebody"] = token
	var me rest.Me
	a := h.do(t.Context(), t, "somebody", "GET", "/api/v1/me", "")
	if err := json.Unmarshal(a.body, &me); err != nil || a.status != http.StatusOK {
		return fmt.Sprint(a.status)
	}
	return me.Name
}

// TestDeviceByREST: everything is possible without a browser.
func TestDeviceByREST(t *testing.T) {
	h := newFixture(t)
	d := h.device(t)
	if d.VerificationURI != strings.Replace(h.URL, "http:", "https:", 1)+"/device" || !strings.HasSuffix(d.VerificationURIComplete, "/device?user_code="+d.UserCode) || d.Interval != 5 || d.ExpiresIn != 600 {
		t.Errorf("%+v", d)
	}
	if _, code := h.poll(t, d); code != rest.OAuthAuthorizationPending {
		t.Errorf("before the answer: %q", code)
	}
	if _, code := h.pollNow(t, d); code != rest.OAuthSlowDown {
		t.Errorf("too soon: %q", code)
	}
	var asked rest.DeviceRequest
	a := h.do(t.Context(), t, "viewer", "GET", devices+"/"+strings.ToLower(d.UserCode), "")
	if err := json.Unmarshal(a.body, &asked); err != nil || asked.Client != "kqueen on build-7" || asked.Source != "127.0.0.1" {
		t.Errorf("what is asked: %d %s", a.status, a.body)
	}
	answer := fmt.Sprintf(`{"userCode":%q,"approve":true}`, d.UserCode)
	if a := h.do(t.Context(), t, "viewer", "POST", answers, answer); a.status != http.StatusNoContent {
		t.Errorf("approve: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "red", "POST", answers, answer); a.status != http.StatusNotFound {
		t.Errorf("approve what was approved: %d %s", a.status, a.body)
	}
	issued, code := h.poll(t, d)
	if code != "" || h.me(t, issued.Token) != "viewer" || issued.Type != "Bearer" || issued.ExpiresIn <= 0 {
		t.Errorf("%q %+v", code, issued)
	}
	if _, code := h.poll(t, d); code != rest.OAuthInvalidGrant {
		t.Errorf("once more: %q", code)
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, OldestFirst: true})
	var got []string
	for _, r := range page.Records {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", r.Actor.Name, r.Action, r.Object.Kind, r.Object.Name, r.Outcome))
		if strings.Contains(fmt.Sprintf("%+v", r), d.UserCode) || strings.Contains(fmt.Sprintf("%+v", r), d.DeviceCode) {
			t.Errorf("a code is in the log: %+v", r)
		}
	}
	want := []string{
		" start-device   succeeded", "viewer answer-device Device  succeeded", "red answer-device Device  denied",
		" sign-in User viewer succeeded", " sign-in   denied",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the audit log (-want +got), %v:\n%s", err, diff)
	}
}

func TestDeviceRefused(t *testing.T) {
	h := newFixture(t)
	answer := func(d rest.DeviceAuthorization, who string, approve bool) answer {
		return h.do(t.Context(), t, who, "POST", answers, fmt.Sprintf(`{"userCode":%q,"approve":%t}`, d.UserCode, approve))
	}
	d := h.device(t)
	answer(d, "viewer", false)
	if _, code := h.poll(t, d); code != rest.OAuthAccessDenied {
		t.Errorf("denied: %q", code)
	}
	d = h.device(t)
	h.tokens["token"] = apiToken(t, h)
	if a := answer(d, "token", true); a.status != http.StatusForbidden {
		t.Errorf("a token approves: %d %s", a.status, a.body)
	}
	if a := answer(d, "", true); a.status != http.StatusUnauthorized {
		t.Errorf("an unauthenticated caller approves: %d %s", a.status, a.body)
	}
	// Disabled after the answer and before the poll.
	answer(d, "operator", true)
	if err := h.access.Users.Disable(t.Context(), "operator"); err != nil {
		t.Fatal(err)
	}
	if _, code := h.poll(t, d); code != rest.OAuthInvalidGrant {
		t.Errorf("for a user who was disabled: %q", code)
	}
	d = h.device(t)
	if _, err := h.db.ExecContext(t.Context(), `UPDATE access_devices SET expires = 1`); err != nil {
		t.Fatal(err)
	}
	if a := answer(d, "viewer", true); a.status != http.StatusNotFound {
		t.Errorf("approve late: %d %s", a.status, a.body)
	}
	if _, code := h.poll(t, d); code != rest.OAuthExpiredToken {
		t.Errorf("late: %q", code)
	}
	// Who guesses others' codes is locked out, and so is not told whether the next one is right.
	d = h.device(t)
	status := 0
	for i := range 6 {
		status = h.do(t.Context(), t, "red", "POST", answers, fmt.Sprintf(`{"userCode":"BBBB-BBB%c","approve":true}`, "BCDFGH"[i])).status
	}
	if a := answer(d, "red", true); status != http.StatusTooManyRequests || a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("after guesses: %d, with the right one %d", status, a.status)
	}
	if _, code := h.poll(t, d); code != rest.OAuthAuthorizationPending {
		t.Errorf("after guesses: %q", code)
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "answer-device", Actor: "red"})
	if err != nil || len(page.Records) != 7 {
		t.Errorf("the log has %d guesses (%v)", len(page.Records), err)
	}
}

// TestDeviceFlood: one address may not make us keep as much as it likes.
func TestDeviceFlood(t *testing.T) {
	h := newFixture(t)
	status := 0
	for range 21 {
		status = h.send(t, devices, url.Values{"client_id": {"flood"}}).status
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the 21st device of one address: %d", status)
	}
}

// TestDeviceByPage: the user types the code, sees which device asks, and answers.
func TestDeviceByPage(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	d := h.device(t)
	s := b.get("/device?user_code=" + d.UserCode)
	if s.status != http.StatusSeeOther || s.location() != "/signin?next="+url.QueryEscape("/device?user_code="+d.UserCode) {
		t.Fatalf("%d %s", s.status, s.location())
	}
	b.get(s.location())
	s = b.submit("/signin", "name", "viewer", "password", secret, "next", "/device?user_code="+d.UserCode)
	if s = b.get(s.location()); !strings.Contains(s.body, d.UserCode) || strings.Contains(s.body, "build-7") {
		t.Errorf("a link alone shows %d %s", s.status, s.body)
	}
	if s = b.submit("/device", "user_code", d.UserCode); !strings.Contains(s.body, "kqueen on build-7") {
		t.Errorf("%d %s", s.status, s.body)
	}
	if s = b.submit("/device", "user_code", d.UserCode, "answer", "approve"); s.status != http.StatusOK {
		t.Errorf("%d %s", s.status, s.body)
	}
	if issued, code := h.poll(t, d); code != "" || h.me(t, issued.Token) != "viewer" {
		t.Errorf("%q", code)
	}
	// Guesses on the page count as those by REST.
	for range 6 {
		b.get("/device")
		s = b.submit("/device", "user_code", "BBBB-BBBB")
	}
	if s.status != http.StatusTooManyRequests {
		t.Errorf("after guesses: %d", s.status)
	}
}

// command is a command line that a browser brings a code to.
type command struct{ verifier, redirect string }

func newCommand() command {
	return command{oauth2.GenerateVerifier(), "http://127.0.0.1:4711/callback"}
}

func (c command) page() string {
	return "/authorize?" + url.Values{
		"redirect_uri": {c.redirect}, "state": {"st-1"}, "client": {"kqueen on build-7"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(c.verifier)}, "code_challenge_method": {"S256"},
	}.Encode()
}

var hiddenFields = []string{"redirect_uri", "state", "client", "code_challenge", "code_challenge_method"}

// answer opens the page and answers.
func (c command) answer(b *browser, answer string) url.Values {
	b.t.Helper()
	s := b.get(c.page())
	if s.status != http.StatusOK || !strings.Contains(s.header.Get("Content-Security-Policy"), "form-action 'self' http://127.0.0.1:4711;") {
		b.t.Fatalf("%d %s %s", s.status, s.header.Get("Content-Security-Policy"), s.body)
	}
	u, err := url.Parse(c.page())
	if err != nil {
		b.t.Fatal(err)
	}
	pairs := []string{"answer", answer}
	for _, name := range hiddenFields {
		if !strings.Contains(s.body, `name="`+name+`" value="`) {
			b.t.Errorf("the form has no %s", name)
		}
		pairs = append(pairs, name, u.Query().Get(name))
	}
	s = b.submit("/authorize", pairs...)
	back, err := url.Parse(s.location())
	if err != nil || s.status != http.StatusSeeOther || !strings.HasPrefix(s.location(), c.redirect+"?") || back.Query().Get("state") != "st-1" {
		b.t.Fatalf("%d %s %s", s.status, s.location(), s.body)
	}
	return back.Query()
}

func (h *fixture) exchange(t *testing.T, code, verifier, redirect string) (issued rest.Issued, problem string) {
	t.Helper()
	body, err := json.Marshal(rest.CodeExchange{Code: code, CodeVerifier: verifier, RedirectURI: redirect})
	if err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "", "POST", "/api/v1/code", string(body))
	if a.status != http.StatusOK {
		return issued, a.problem(t).Code
	}
	if err := json.Unmarshal(a.body, &issued); err != nil {
		t.Fatal(err)
	}
	return issued, ""
}

func TestCode(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	b.signIn("viewer")
	c := newCommand()
	code := c.answer(b, "approve").Get("code")
	issued, problem := h.exchange(t, code, c.verifier, c.redirect)
	if problem != "" || h.me(t, issued.Token) != "viewer" || issued.Name != "kqueen on build-7" {
		t.Errorf("%q %+v", problem, issued.Credential)
	}
	if _, problem := h.exchange(t, code, c.verifier, c.redirect); problem != rest.CodeInvalidGrant {
		t.Errorf("a used code: %q", problem)
	}
	if q := c.answer(b, "deny"); q.Get("error") != "access_denied" || q.Has("code") {
		t.Errorf("denied: %v", q)
	}
	if q := c.answer(b, ""); q.Get("error") != "access_denied" {
		t.Errorf("without an answer: %v", q)
	}
	for what, change := range map[string]func(*command){
		"another verifier": func(c *command) { c.verifier = oauth2.GenerateVerifier() },
		"no verifier":      func(c *command) { c.verifier = "" },
		"another address":  func(c *command) { c.redirect = "http://127.0.0.1:4712/callback" },
	} {
		code, wrong := c.answer(b, "approve").Get("code"), c
		change(&wrong)
		if _, problem := h.exchange(t, code, wrong.verifier, wrong.redirect); problem != rest.CodeInvalidGrant {
			t.Errorf("%s: %q", what, problem)
		}
		if _, problem := h.exchange(t, code, c.verifier, c.redirect); problem != rest.CodeInvalidGrant {
			t.Errorf("after %s: %q", what, problem)
		}
	}
	code = c.answer(b, "approve").Get("code")
	if err := h.access.Users.Disable(t.Context(), "viewer"); err != nil {
		t.Fatal(err)
	}
	if _, problem := h.exchange(t, code, c.verifier, c.redirect); problem != rest.CodeInvalidGrant {
		t.Errorf("for a user who was disabled: %q", problem)
	}
}

// TestAuthorizeRefused: a browser is sent only to a program on its own machine.
func TestAuthorizeRefused(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	b.signIn("viewer")
	good, err := url.Parse(newCommand().page())
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][]string{
		"redirect_uri": {
			"", "https://evil.example.com/", "http://evil.example.com:80/", "http://localhost:4711/", "http://127.0.0.1/", "http://127.0.0.1:0/",
			"http://127.0.0.1:4711@evil.example.com/", "http://127.0.0.1:4711/?a=b", "http://127.0.0.1:4711/#x", "http://[::1]:4711/", "http://127.1:4711/",
			"http://127.0.0.1:4711;script-src/", "javascript:alert(1)", "http://127.0.0.1:99999/",
		},
		"state":                 {"", strings.Repeat("s", 201), "a b", "a\r\nb", "ä"},
		"code_challenge":        {"", "short", strings.Repeat("a", 44)},
		"code_challenge_method": {"", "plain", "s256"},
	} {
		for _, value := range values {
			q := good.Query()
			q.Set(name, value)
			if s := b.get("/authorize?" + q.Encode()); s.status != http.StatusUnprocessableEntity && s.status != http.StatusBadRequest || s.location() != "" {
				t.Errorf("GET with %s=%q: %d %s", name, value, s.status, s.location())
			}
			b.get(newCommand().page())
			pairs := []string{"answer", "deny"}
			for _, field := range hiddenFields {
				pairs = append(pairs, field, q.Get(field))
			}
			if s := b.submit("/authorize", pairs...); s.status != http.StatusUnprocessableEntity && s.status != http.StatusBadRequest || s.location() != "" {
				t.Errorf("POST with %s=%q: %d %s", name, value, s.status, s.location())
			}
		}
	}
}
