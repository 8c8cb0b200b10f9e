package server

import (
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/server/chain"
)

// TestCookie: the REST API takes the session of a browser from pages of this server alone, whatever other sites have the browser send.
func TestCookie(t *testing.T) {
	h := newFixture(t)
	base := "https://" + strings.TrimPrefix(h.URL, "http://")
	const same, cross = "same-origin", "cross-site"
	cases := map[string]struct {
		method, session string
		headers         []string
		want            int
	}{
		"page":                         {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", same}, http.StatusOK},
		"page that changes":            {"POST", h.tokens["viewer"], []string{"Sec-Fetch-Site", same, "Origin", base}, http.StatusUnprocessableEntity},
		"a change without an origin":   {"POST", h.tokens["viewer"], []string{"Sec-Fetch-Site", same}, http.StatusUnauthorized},
		"a change of another origin":   {"POST", h.tokens["viewer"], []string{"Sec-Fetch-Site", same, "Origin", "https://evil.example"}, http.StatusUnauthorized},
		"by plain HTTP":                {"POST", h.tokens["viewer"], []string{"Sec-Fetch-Site", same, "Origin", h.URL}, http.StatusUnauthorized},
		"an opaque origin":             {"POST", h.tokens["viewer"], []string{"Sec-Fetch-Site", cross, "Origin", "null"}, http.StatusUnauthorized},
		"another site":                 {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", cross}, http.StatusUnauthorized},
		"a neighbour":                  {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", "same-site"}, http.StatusUnauthorized},
		"the address bar":              {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", "none"}, http.StatusUnauthorized},
		"a browser that does not tell": {"GET", h.tokens["viewer"], nil, http.StatusUnauthorized},
		"a token as the cookie":        {"GET", apiToken(t, h), []string{"Sec-Fetch-Site", same}, http.StatusUnauthorized},
		"no session":                   {"GET", "kqu_nothing", []string{"Sec-Fetch-Site", same}, http.StatusUnauthorized},
		"what is sent counts first":    {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", same, "Authorization", "Bearer wrong"}, http.StatusUnauthorized},
		"nothing that is sent":         {"GET", h.tokens["viewer"], []string{"Sec-Fetch-Site", same, "Authorization", ""}, http.StatusUnauthorized},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := "/api/v1/me"
			if c.method == http.MethodPost {
				path = "/api/v1/me/tokens"
			}
			a := h.do(t.Context(), t, "", c.method, path, "{}", append(c.headers, "Cookie", chain.SessionCookie+"="+c.session)...)
			if a.status != c.want {
				t.Errorf("%d, want %d: %s", a.status, c.want, a.body)
			}
		})
	}
	for _, path := range []string{"/kubernetes/api", "/clusters/blue/thing/version", "/metrics", "/agents/connect"} {
		if a := h.do(t.Context(), t, "", "GET", path, "", "Sec-Fetch-Site", same, "Cookie", chain.SessionCookie+"="+h.tokens["admin"]); a.status != http.StatusUnauthorized {
			t.Errorf("%s takes a cookie: %d", path, a.status)
		}
	}
}
