package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// TestMintingToken: what a token mints may no more than it and ends before it; it lets no caller in for longer, and names members.
func TestMintingToken(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	h.tokens["token"], h.tokens["robot"], h.tokens["narrow"] = h.issue(t, "owner", ""), h.mint(t, "owner", ""), h.mint(t, "owner", "operator")
	h.tokens["root"] = h.mint(t, "admin", "")
	const (
		post, patch, put = http.MethodPost, http.MethodPatch, http.MethodPut
		own, users       = "/api/v1/me/tokens", "/api/v1/users"
		accounts         = "/api/v1/organizations/blue/serviceaccounts"
		green            = "/api/v1/organizations/green"
		cannot, lets     = "tokens cannot do this; sign in", "kqueen token create NAME --mint"
		reaches          = "operator or less in the organization blue"
	)
	account, user := accounts+"/"+someAccount(t, h, 1)["serviceAccount"], users+"/"+someUser(t, h, 1)["user"]
	token := func(after time.Duration, more string) string {
		return fmt.Sprintf(`{"name":"t","expiresAt":%q%s}`, time.Now().Add(after).UTC().Format(time.RFC3339), more)
	}
	soon := time.Hour
	for _, tc := range []struct {
		who, method, path, body string
		want                    int
		says                    string
	}{
		{"robot", post, accounts, `{"name":"minted","role":"owner"}`, 201, ""},
		{"token", post, accounts, `{"name":"other","role":"viewer"}`, 403, lets},
		{"narrow", post, accounts, `{"name":"other","role":"viewer"}`, 403, "this needs the role owner in the organization"},
		{"robot", post, account + "/tokens", token(soon, ""), 201, ""},
		{"robot", post, account + "/tokens", token(3*soon, ""), 422, "it is after the token ends that makes it; want a time up to 20"},
		{"robot", post, account + "/tokens", token(soon, `,"mint":true`), 403, cannot},
		{"token", post, account + "/tokens", token(soon, ""), 403, lets},
		{"robot", patch, account, `{"role":"owner"}`, 403, cannot},
		{"robot", patch, account, `{"disabled":true}`, 200, ""},
		{"robot", patch, account, `{"disabled":false}`, 200, ""},

		{"robot", post, own, token(soon, ""), 201, ""},
		{"robot", post, own, token(soon, `,"mint":true`), 403, cannot},
		{"robot", post, own, token(3*soon, ""), 422, "want a time up to 20"},
		{"token", post, own, token(soon, ""), 403, lets},
		{"narrow", post, own, token(soon, ""), 422, reaches},
		{"narrow", post, own, token(soon, `,"scope":{"organization":"blue","role":"owner"}`), 422, reaches},
		{"narrow", post, own, token(soon, `,"scope":{"organization":"green","role":"viewer"}`), 422, reaches},
		{"narrow", post, own, token(soon, `,"scope":{"organization":"blue","role":"operator"}`), 201, ""},

		{"robot", put, green + "/members/user:eve", `{"role":"viewer"}`, 200, ""},
		{"token", put, green + "/members/user:eve", `{"role":"owner"}`, 403, lets},
		{"token", patch, green, `{"spec":{"members":[{"user":"owner","role":"owner"},{"group":"eve","role":"viewer"}]}}`, 403, lets},
		{"robot", patch, green, `{"spec":{"members":[{"user":"owner","role":"owner"},{"group":"eve","role":"viewer"}]}}`, 200, ""},
		{"token", http.MethodDelete, green + "/members/group:eve", "", 204, ""},
		{"root", post, "/api/v1/organizations?dryRun=true", `{"name":"grey","spec":{"members":[{"user":"eve","role":"viewer"}]}}`, 201, ""},

		{"root", post, users, `{"name":"inert"}`, 201, ""},
		{"root", post, users, `{"name":"other","admin":true}`, 403, cannot},
		{"root", patch, user, `{"admin":true}`, 403, cannot},
		{"root", patch, user, `{"disabled":false}`, 403, cannot},
		{"root", post, user + "/reset", "", 403, cannot},
		{"owner", post, own, token(soon, `,"mint":true`), 201, `"mint":true`},
		{"owner", post, account + "/tokens", token(soon, `,"mint":true`), 201, `"mint":true`},
	} {
		headers := []string{"If-Match", "*"}
		if tc.method == patch {
			headers = append(headers, "Content-Type", "application/merge-patch+json")
		}
		a := h.do(t.Context(), t, tc.who, tc.method, tc.path, tc.body, headers...)
		if a.status != tc.want || !strings.Contains(string(a.body), tc.says) {
			t.Errorf("%s %s %s %s: %d, want %d and %q: %s", tc.who, tc.method, tc.path, tc.body, a.status, tc.want, tc.says, a.body)
		}
	}
}

// TestMintedEndsWithItsToken: ending a token that was stolen ends all that the thief made with it.
func TestMintedEndsWithItsToken(t *testing.T) {
	h := newFixture(t)
	h.tokens["robot"] = h.mint(t, "owner", "")
	account := "/api/v1/organizations/blue/serviceaccounts/" + someAccount(t, h, 1)["serviceAccount"]
	expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	robot, err := h.access.Credentials.Authenticate(t.Context(), h.tokens["robot"])
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"own": "/api/v1/me/tokens", "program": account + "/tokens"} {
		a := h.do(t.Context(), t, "robot", "POST", path, fmt.Sprintf(`{"name":"t","expiresAt":%q}`, expires))
		var made rest.Issued
		if err := json.Unmarshal(a.body, &made); err != nil || made.MintedBy != robot.Credential.ID || made.Mint {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
		h.tokens[name] = made.Token
		if a := h.do(t.Context(), t, name, "GET", "/api/v1/me", ""); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := h.do(t.Context(), t, "owner", "DELETE", "/api/v1/me/credentials/"+robot.Credential.ID, ""); a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, name := range []string{"robot", "own", "program"} {
		if a := h.do(t.Context(), t, name, "GET", "/api/v1/me", ""); a.status != http.StatusUnauthorized {
			t.Errorf("%s after its end: %d %s", name, a.status, a.body)
		}
	}
}
