package access

import (
	"net/url"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/cli/connection"
)

func TestContextName(t *testing.T) {
	for server, want := range map[string]string{
		"https://kqueen.example.com":                   "kqueen.example.com",
		"https://kqueen.example.com:8443":              "kqueen.example.com",
		"https://kqueen.example.com:9443":              "kqueen.example.com-9443",
		"https://[::1]:8443":                           "1",
		"https://[fe80::1]:8444":                       "fe80--1-8444",
		"https://" + strings.Repeat("a", 80) + ":8443": strings.Repeat("a", 64),
	} {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		if got := contextName(u); got != want || !connection.ContextPattern.MatchString(got) {
			t.Errorf("%s: got %q, want %q", server, got, want)
		}
	}
}
