package pages

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzCodeRequest: whatever is asked for, the code goes to this machine's own address and its policy has nothing else.
func FuzzCodeRequest(f *testing.F) {
	for _, seed := range []string{
		"http://127.0.0.1:4711/callback", "http://127.0.0.1:80@evil.example.com:1/", "http://127.0.0.1:1;/", "http://[::1]:1/", "http://127.0.0.1:1/..//evil",
	} {
		f.Add(seed, "st-1")
	}
	f.Fuzz(func(t *testing.T, redirect, state string) {
		p, err := codeRequest(url.Values{
			"redirect_uri": {redirect}, "state": {state}, "code_challenge_method": {"S256"},
			"code_challenge": {"E9Melhoa2OwvFrEMTJGuCHaoeK1t8URWbuGJSstw-cM"},
		})
		if err != nil {
			return
		}
		back := p.back(url.Values{"code": {"c"}})
		u, err := url.Parse(back)
		if err != nil || u.Scheme != "http" || u.Host != "127.0.0.1:"+p.Port || u.User != nil || strings.Trim(p.Port, "0123456789") != "" ||
			u.Query().Get("state") != state || u.Query().Get("code") != "c" || strings.ContainsAny(back, " \r\n\\") {
			t.Errorf("%q, %q lead to %q with port %q", redirect, state, back, p.Port)
		}
	})
}
