package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"kqueen.io/kqueen/api/rest"
)

// TestProbes: what programs ask for by names that all know needs no session, but for what was measured.
func TestProbes(t *testing.T) {
	h := newFixture(t)
	h.starting.Store(true)
	ask := func(who, path string, headers ...string) answer {
		t.Helper()
		return h.do(t.Context(), t, who, "GET", path, "", headers...)
	}
	if a := ask("", "/healthz"); a.status != http.StatusOK {
		t.Errorf("/healthz: %d %s", a.status, a.body)
	}
	if a := ask("", "/readyz"); a.status != http.StatusServiceUnavailable || a.problem(t).Detail != "KQueen starts" {
		t.Errorf("/readyz of one that starts: %d %s", a.status, a.body)
	}
	h.starting.Store(false)
	if a := ask("", "/readyz"); a.status != http.StatusOK {
		t.Errorf("/readyz: %d %s", a.status, a.body)
	}
	var version rest.Version
	if a := ask("", "/version"); json.Unmarshal(a.body, &version) != nil || version != (rest.Version{Version: "test", API: "v1"}) {
		t.Errorf("/version: %d %s", a.status, a.body)
	}
	var index rest.Index
	if a := ask("", "/"); json.Unmarshal(a.body, &index) != nil || ask("", index.OpenAPI).status != http.StatusOK || ask("", index.OAuth).status != http.StatusOK {
		t.Errorf("/: %d %s", a.status, a.body)
	}
	if a := ask("", "/nothing"); a.status != http.StatusNotFound {
		t.Errorf("/nothing: %d %s", a.status, a.body)
	}
	for who, want := range map[string]int{"": http.StatusUnauthorized, "nobody": http.StatusForbidden, "owner": http.StatusForbidden} {
		if a := ask(who, "/metrics"); a.status != want {
			t.Errorf("/metrics as %q: %d, want %d: %s", who, a.status, want, a.body)
		}
	}
	a := ask("admin", "/metrics") // after the refusals, which it counts
	if a.status != http.StatusOK {
		t.Errorf("/metrics as an administrator: %d: %s", a.status, a.body)
	}
	for _, line := range []string{`kqueen_build_info{version="test"} 1`, `kqueen_api_requests_total{code="401",method="GET"} `, "kqueen_api_request_duration_seconds_count ",
		`kqueen_objects{kind="Cluster",state="not_ready"} `, `kqueen_objects{kind="Upgrade",state="stalled"} 0`, `kqueen_objects{kind="Organization",state="ready"} `} {
		if !strings.Contains(string(a.body), line) {
			t.Errorf("/metrics has no %s:\n%s", line, a.body)
		}
	}
}

// TestRootOfABrowser: a browser is led to the portal.
func TestRootOfABrowser(t *testing.T) {
	h := newFixture(t)
	b := newBrowser(t, h.front(t))
	if s := b.get("/"); s.status != http.StatusSeeOther || s.location() != "/portal/" {
		t.Errorf("%d %s", s.status, s.location())
	}
}

// TestDeviceByALibrary: a client that knows nothing but RFC 8628 and RFC 8414 signs in.
func TestDeviceByALibrary(t *testing.T) {
	h := newFixture(t)
	var server rest.AuthorizationServer
	a := h.do(t.Context(), t, "", "GET", "/.well-known/oauth-authorization-server", "")
	if err := json.Unmarshal(a.body, &server); err != nil || !strings.HasPrefix(server.TokenEndpoint, server.Issuer+"/") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	here := func(endpoint string) string { return h.URL + strings.TrimPrefix(endpoint, server.Issuer) } // without TLS
	client := oauth2.Config{ClientID: "kqueen on build-7", Endpoint: oauth2.Endpoint{
		DeviceAuthURL: here(server.DeviceAuthorizationEndpoint), TokenURL: here(server.TokenEndpoint), AuthStyle: oauth2.AuthStyleInParams,
	}}
	device, err := client.DeviceAuth(t.Context())
	if err != nil || device.Interval != 5 || time.Until(device.Expiry) < 9*time.Minute || !strings.HasSuffix(device.VerificationURI, "/device") {
		t.Fatalf("%+v, %v", device, err)
	}
	if a := h.do(t.Context(), t, "viewer", "POST", answers, `{"userCode":"`+device.UserCode+`","approve":true}`); a.status != http.StatusNoContent {
		t.Fatalf("approve: %d %s", a.status, a.body)
	}
	device.Interval = 1 // the first poll is not too early
	token, err := client.DeviceAccessToken(t.Context(), device)
	if err != nil || token.Type() != "Bearer" || h.me(t, token.AccessToken) != "viewer" {
		t.Errorf("%+v, %v", token, err)
	}
	_, err = client.DeviceAccessToken(t.Context(), device)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != rest.OAuthInvalidGrant {
		t.Errorf("once more: %v", err)
	}
}

// TestFormsOfDevices: what OAuth clients send wrong they are told in the words of OAuth.
func TestFormsOfDevices(t *testing.T) {
	h := newFixture(t)
	for name, tc := range map[string]struct{ path, body, want string }{
		"no client":     {devices, "scope=a", rest.OAuthInvalidRequest},
		"JSON":          {devices, `{"client_id":"a"}`, rest.OAuthInvalidRequest},
		"twice":         {devices, "client_id=a&client_id=b", rest.OAuthInvalidRequest},
		"no form":       {devices, "client_id=%zz", rest.OAuthInvalidRequest},
		"no grant":      {poll, "device_code=x", rest.OAuthInvalidRequest},
		"other grant":   {poll, "grant_type=password&device_code=x", rest.OAuthUnsupportedGrantType},
		"no code":       {poll, "grant_type=" + rest.DeviceGrant, rest.OAuthInvalidRequest},
		"unknown code":  {poll, "grant_type=" + rest.DeviceGrant + "&device_code=x", rest.OAuthInvalidGrant},
		"unknown field": {poll, "grant_type=" + rest.DeviceGrant + "&device_code=x&more=1", rest.OAuthInvalidGrant},
	} {
		a := h.do(t.Context(), t, "", "POST", tc.path, tc.body, "Content-Type", "application/x-www-form-urlencoded")
		if got := a.oauth(t); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
