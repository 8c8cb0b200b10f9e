package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// TestDeletedUserLeaves: a user who is created again under the name of one who was deleted has none of the former one's roles.
func TestDeletedUserLeaves(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const at = "/api/v1/organizations/green"
	enter := func() {
		t.Helper()
		if _, err := h.access.Users.Create(t.Context(), access.NewUser{Name: "twin", Password: secret}); err != nil {
			t.Fatal(err)
		}
		issued, err := h.access.Passwords.SignIn(t.Context(), "twin", secret, access.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		h.tokens["twin"] = issued.Token.Reveal()
	}
	enter()
	for _, member := range []string{"user:twin", "group:twin"} {
		if a := h.do(t.Context(), t, "owner", "PUT", at+"/members/"+member, `{"role":"operator"}`); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	h.await(t, func() bool { return h.do(t.Context(), t, "twin", "GET", at, "").status == http.StatusOK })
	if a := h.do(t.Context(), t, "admin", "DELETE", "/api/v1/users/twin", ""); a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := h.members(t, "viewer"); strings.Contains(got, "user:twin") || !strings.Contains(got, "group:twin=operator") {
		t.Errorf("the members are %q", got)
	}
	enter()
	h.await(t, func() bool { return h.do(t.Context(), t, "twin", "GET", at, "").status == http.StatusNotFound })
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "delete", ObjectName: "twin"})
	if err != nil || len(page.Records) != 1 || page.Records[0].Detail["leaves"] != "green" || page.Records[0].Object.Kind != "User" {
		t.Errorf("the audit log has %+v (%v)", page.Records, err)
	}
	// A user who is not there is in no organization, whatever these say.
	if a := h.do(t.Context(), t, "owner", "PUT", at+"/members/user:planned", `{"role":"viewer"}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "admin", "DELETE", "/api/v1/users/planned", ""); a.status != http.StatusNotFound {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := h.members(t, "viewer"); !strings.Contains(got, "user:planned=viewer") {
		t.Errorf("the members are %q", got)
	}
}

// TestMembers: members come and go, as the roles allow; the audit log names them.
func TestMembers(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const at = "/api/v1/organizations/green/members/"
	const begun = "user:viewer=viewer user:owner=owner"
	for range 2 {
		a := h.do(t.Context(), t, "owner", "PUT", at+url.PathEscape("group:corp:x/y z"), `{"role":"developer"}`)
		var m rest.Member
		if err := json.Unmarshal(a.body, &m); err != nil || a.status != http.StatusOK || m.Group != "corp:x/y z" || m.Role != "developer" {
			t.Errorf("set: %d %s", a.status, a.body)
		}
	}
	if got := h.members(t, "viewer"); got != begun+" group:corp:x/y z=developer" {
		t.Errorf("the members are %q", got)
	}
	if a := h.do(t.Context(), t, "owner", "DELETE", at+url.PathEscape("group:corp:x/y z")+"?dryRun=true", ""); a.status != http.StatusNoContent {
		t.Errorf("try to remove: %d %s", a.status, a.body)
	}
	if got := h.members(t, "viewer"); got != begun+" group:corp:x/y z=developer" {
		t.Errorf("after a dry run, the members are %q", got)
	}
	for range 2 {
		if a := h.do(t.Context(), t, "owner", "DELETE", at+url.PathEscape("group:corp:x/y z"), ""); a.status != http.StatusNoContent {
			t.Errorf("remove: %d %s", a.status, a.body)
		}
	}
	if got := h.members(t, "viewer"); got != begun {
		t.Errorf("the members are %q", got)
	}
	var log []string
	page, err := h.audit.List(t.Context(), audit.Filter{Organization: "green", OldestFirst: true})
	for _, r := range page.Records {
		log = append(log, fmt.Sprintf("%s %s %s %s %t %t", r.Actor.Name, r.Action, r.Object.Name, r.Detail["member"], r.Before != "", r.Before != r.After))
	}
	want := []string{
		"owner set-member green group:corp:x/y z true true", "owner set-member green group:corp:x/y z false false", "owner remove-member green  false false",
		"owner remove-member green group:corp:x/y z true true", "owner remove-member green group:corp:x/y z false false",
	}
	if diff := cmp.Diff(want, log); diff != "" || err != nil {
		t.Errorf("the audit log (-want +got), %v\n%s", err, diff)
	}
}

// TestMembersAttacks: no caller comes in, or rises, who is not let.
func TestMembersAttacks(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const at = "/api/v1/organizations/green/members/"
	for _, tc := range []struct {
		who, method, member, body string
		want                      int
	}{
		{"viewer", "PUT", "user:viewer", `{"role":"owner"}`, 403},
		{"viewer", "PUT", "user:viewer", `{"role":"viewer"}`, 403}, // also where nothing would change
		{"viewer", "DELETE", "user:owner", "", 403},
		{"viewer", "DELETE", "user:notthere", "", 403},
		{"developer", "PUT", "user:developer", `{"role":"viewer"}`, 404},
		{"red", "PUT", "user:red", `{"role":"viewer"}`, 404},
		{"red", "DELETE", "user:owner", "", 404},
		{"owner", "DELETE", "user:owner", "", 403},
		{"owner", "PUT", "user:owner", `{"role":"operator"}`, 403},
		{"owner", "PUT", "user:alice", `{"role":"admin"}`, 422},
		{"owner", "PUT", "user:alice", `{"role":"viewer","user":"mallory"}`, 422},
		{"owner", "PUT", "user:alice", `{}`, 422},
		{"owner", "PUT", "alice", `{"role":"viewer"}`, 422},
		{"owner", "PUT", "user:%0a", `{"role":"viewer"}`, 422},
	} {
		a := h.do(t.Context(), t, tc.who, tc.method, at+tc.member, tc.body)
		if a.status != tc.want {
			t.Errorf("%s %s %s %s: %d, want %d: %s", tc.who, tc.method, tc.member, tc.body, a.status, tc.want, a.body)
		}
	}
	a := h.do(t.Context(), t, "owner", "PATCH", "/api/v1/organizations/green", `{"spec":{"members":[]}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
	if p := a.problem(t); a.status != http.StatusForbidden || !strings.Contains(p.Detail+fmt.Sprint(p.Errors), "the last owner stays one") {
		t.Errorf("a change of the whole organization: %d %s", a.status, a.body)
	}
	if got := h.members(t, "admin"); got != "user:viewer=viewer user:owner=owner" {
		t.Errorf("the members are %q", got)
	}
	if a := h.do(t.Context(), t, "admin", "DELETE", at+"user:owner", ""); a.status != http.StatusNoContent {
		t.Errorf("an administrator removes the last owner: %d %s", a.status, a.body)
	}
}

// TestMembersAtOnce: of many changes at the same time none is lost.
func TestMembersAtOnce(t *testing.T) {
	h := newFixture(t)
	h.green(t)
	const many = 10
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			a := h.do(t.Context(), t, "owner", "PUT", fmt.Sprintf("/api/v1/organizations/green/members/user:u%d", i), `{"role":"viewer"}`)
			if a.status != http.StatusOK {
				t.Errorf("member %d: %d %s", i, a.status, a.body)
			}
		})
	}
	all.Wait()
	if got := strings.Count(h.members(t, "owner"), "user:u"); got != many {
		t.Errorf("there are %d, want %d", got, many)
	}
}

func (h *fixture) members(t *testing.T, who string) string {
	t.Helper()
	a := h.do(t.Context(), t, who, "GET", "/api/v1/organizations/green/members", "")
	var page rest.Page[rest.Member]
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var all []string
	for _, m := range page.Items {
		all = append(all, m.ID+"="+m.Role)
	}
	return strings.Join(all, " ")
}
