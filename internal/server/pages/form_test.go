package pages

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/server/chain"
)

// TestCheckForm: what a browser says of where a form comes from is asked twice, and neither answer can be left out for the other.
func TestCheckForm(t *testing.T) {
	const own, seed = "https://kqueen.example.com", "AAAAAAAAAAAAAAAAAAAAAAAAAA"
	key := []byte(strings.Repeat("k", 32))
	for name, c := range map[string]struct {
		origin, site string
		proof        string
		taken        bool
	}{
		"of ours":               {own, "same-origin", Proof(key, seed, "", SignInPath), true},
		"of an older browser":   {own, "", Proof(key, seed, "", SignInPath), true},
		"by plain HTTP":         {"http://kqueen.example.com", "same-origin", Proof(key, seed, "", SignInPath), false},
		"of an older, by HTTP":  {"http://kqueen.example.com", "", Proof(key, seed, "", SignInPath), false},
		"from nowhere":          {"", "same-origin", Proof(key, seed, "", SignInPath), false},
		"without a word":        {"", "", Proof(key, seed, "", SignInPath), false},
		"from null":             {"null", "", Proof(key, seed, "", SignInPath), false},
		"from another site":     {"https://evil.example.com", "cross-site", Proof(key, seed, "", SignInPath), false},
		"by a cross-site one":   {own, "cross-site", Proof(key, seed, "", SignInPath), false},
		"by a same-site one":    {own, "same-site", Proof(key, seed, "", SignInPath), false},
		"of a site yet to come": {own, "other-site", Proof(key, seed, "", SignInPath), false},
		"without a proof":       {own, "same-origin", "", false},
		"of another page":       {own, "same-origin", Proof(key, seed, "", signOutPath), false},
		"of another browser":    {own, "same-origin", Proof(key, strings.Repeat("B", 26), "", SignInPath), false},
		"of another's session":  {own, "same-origin", Proof(key, seed, "session", SignInPath), false},
	} {
		t.Run(name, func(t *testing.T) {
			form := url.Values{proofField: {c.proof}}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, own+SignInPath, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			v := &visit{Request: &chain.Request{}, pages: &Pages{Config: Config{Key: key}}, w: httptest.NewRecorder(), r: r, seed: seed}
			v.Arrive(r)
			if err := v.checkForm(); (err == nil) != c.taken {
				t.Errorf("got %v, want it taken: %v", err, c.taken)
			}
		})
	}
}
