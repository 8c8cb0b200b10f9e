package pages

import (
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/accounts"
)

const goodAuthorize = "/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&state=st-1&code_challenge_method=S256" +
	"&code_challenge=E9Melhoa2OwvFrEMTJGuCHaoeK1t8URWbuGJSstw-cM&client=kqueen+on+build-7"

// FuzzNextPage: whatever is asked for, the browser stays here, on a page that is for that.
func FuzzNextPage(f *testing.F) {
	for _, seed := range []string{"/device?user_code=AB", goodAuthorize, "//evil.example.com", `/\evil`, "/device\r\nX: y", "/device?next=//evil", "/device;x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := nextPage(text)
		if err != nil || got == "" {
			return
		}
		path, query, _ := strings.Cut(got, "?")
		if path != accounts.DevicePath && path != authorizePath && !strings.HasPrefix(path, rest.PortalPath) || strings.Contains(path, "/.") || strings.ContainsAny(query, "\r\n\\\"<> ") {
			t.Errorf("%q leads to %q", text, got)
		}
	})
}

// TestNext: signing in leads to pages of ours and nowhere else.
func TestNext(t *testing.T) {
	tests := map[string]struct {
		next, want string
		bad        bool
	}{
		"None":      {"", "", false},
		"Device":    {"/device?user_code=AB", "/device?user_code=AB", false},
		"Authorize": {goodAuthorize, "", false},
		"Portal":    {"/portal/clusters?organization=blue", "/portal/clusters?organization=blue", false},
		"Portal up": {"/portal/../authorize", "", true},
		"Host":      {"https://evil.example.com/device", "", true},
		"Slashes":   {"//evil.example.com/device", "", true},
		"Backslash": {`/\evil.example.com/device`, "", true},
		"Backwards": {`\\evil.example.com`, "", true},
		"Scheme":    {"javascript:alert(1)", "", true},
		"Other":     {"/api/v1/me", "", true},
		"SignOut":   {"/signout", "", true},
		"Dots":      {"/device/../signout", "", true},
		"Escaped":   {"/%64evice", "", true},
		"Fragment":  {"/device#x", "", true},
		"Line":      {"/device\r\nX: y", "", true},
		"Relative":  {"device", "", true},
		"Long":      {"/device?" + strings.Repeat("a", 1000), "", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := nextPage(tc.next)
			if tc.bad != (err != nil) || tc.want != "" && got != tc.want || err == nil && got != "" && !strings.HasPrefix(got, "/") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
