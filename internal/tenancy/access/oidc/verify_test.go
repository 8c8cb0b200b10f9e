package oidc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestNoProxy: the environment does not lead calls elsewhere. (Go never takes a proxy for the loopback addresses that
// tests call.)
func TestNoProxy(t *testing.T) {
	guarded, ok := newHTTP(nil, time.Second).Transport.(*guarded)
	if !ok || guarded.next.Proxy != nil {
		t.Error("calls to issuers go through the proxy of the environment")
	}
}

// FuzzClaims: whatever a provider signs, what is taken as a name can be printed, and is bounded.
func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"email":"alice@example.com","email_verified":true,"groups":["a","b"]}`))
	f.Add([]byte(`{"email":"a\u0000b","email_verified":"true","groups":"a"}`))
	f.Add([]byte(`{"groups":[null,7,{}]}`))
	p := Provider{Name: "corp", UsernameClaim: "email", GroupsClaim: "groups"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c claims
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		var names []string
		if name, err := p.username(c); err == nil {
			if !c.verified() {
				t.Errorf("%q is not verified", name)
			}
			names = append(names, name)
		}
		groups, err := p.groups(c)
		if err == nil && c["groups"] == nil {
			t.Error("no claim, and no refusal")
		}
		if !slices.IsSorted(groups) || len(groups) > maxGroups {
			t.Errorf("got %q", groups)
		}
		for _, name := range append(names, groups...) {
			if name == "" || len(name) > max(maxName, maxGroup) || strings.ContainsFunc(name, unicode.IsControl) {
				t.Errorf("took %q", name)
			}
		}
	})
}
