package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

func TestRecords(t *testing.T) {
	h := newFixture(t)
	const clusters = "/api/v1/organizations/blue/clusters"
	h.do(t.Context(), t, "operator", "POST", clusters, `{"name":"logged","spec":{"version":"v1.36.3"}}`, "X-Request-Id", "my-request")
	h.do(t.Context(), t, "viewer", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "operator", "DELETE", clusters+"/logged", "", "If-Match", "*")
	h.do(t.Context(), t, "red", "POST", "/api/v1/organizations/red/clusters", `{"name":"logged","spec":{"version":"v1.36.3"}}`)
	h.do(t.Context(), t, "red", "DELETE", "/api/v1/organizations/red/clusters/logged", "", "If-Match", "*")
	var got []string
	page := rest.Page[rest.AuditRecord]{}
	a := h.do(t.Context(), t, "operator", "GET", "/api/v1/organizations/blue/audit?oldestFirst=true", "")
	if err := json.Unmarshal(a.body, &page); err != nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, r := range page.Items {
		got = append(got, fmt.Sprintf("%s %s %s/%s %s %t %t", r.Actor.Name, r.Action, r.Object.Kind, r.Object.Name, r.Outcome, r.Before != "", r.After != ""))
	}
	want := []string{
		"operator create Cluster/logged succeeded false true",
		"viewer delete Cluster/logged denied false false",
		"operator delete Cluster/logged succeeded true false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log of blue is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(page.Items) > 0 && (page.Items[0].RequestID != "my-request" || page.Items[0].Source != "127.0.0.1") {
		t.Errorf("the first record is %+v", page.Items[0])
	}
	all, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, ActorKind: audit.Anonymous})
	if err != nil || len(all.Records) != 1 || all.Records[0].Outcome != audit.Denied {
		t.Errorf("the attempt of an unauthenticated caller is %+v (%v)", all.Records, err)
	}
	a = h.do(t.Context(), t, "admin", "POST", "/api/v1/audit/verification", "")
	var report rest.AuditReport
	if err := json.Unmarshal(a.body, &report); err != nil || len(report.Problems) > 0 || report.Records == 0 {
		t.Errorf("verification: %d %s", a.status, a.body)
	}
}

func TestMistypedSignIn(t *testing.T) {
	h := newFixture(t)
	for _, name := range []string{"marker of a password", "viewer"} {
		a := h.do(t.Context(), t, "", "POST", "/api/v1/signin", fmt.Sprintf(`{"name":%q,"password":"wrong"}`, name))
		if a.status != http.StatusUnauthorized {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "sign-in", OldestFirst: true})
	if err != nil || len(page.Records) != 2 {
		t.Fatalf("the log has %d tries (%v)", len(page.Records), err)
	}
	if got := page.Records[0].Object.Name + "," + page.Records[1].Object.Name; got != ",viewer" {
		t.Errorf("the log names %q", got)
	}
}

func TestNoLogNoChange(t *testing.T) {
	h := newFixture(t)
	h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", `{"name":"x","spec":{"version":"v9.9.9"}}`)
	if _, err := h.db.ExecContext(t.Context(), `DROP TRIGGER audit_head_update; UPDATE audit_head SET hash = 'forged'`); err != nil {
		t.Fatal(err)
	}
	a := h.do(t.Context(), t, "operator", "POST", "/api/v1/organizations/blue/clusters", `{"name":"untraced","spec":{"version":"v1.36.3"}}`)
	if a.status != http.StatusServiceUnavailable || !a.problem(t).Retryable {
		t.Errorf("a change without a log: %d %s", a.status, a.body)
	}
	if a := h.do(t.Context(), t, "operator", "GET", "/api/v1/organizations/blue/clusters/untraced", ""); a.status != http.StatusNotFound {
		t.Errorf("it was made: %d %s", a.status, a.body)
	}
}

func TestStrangersFillNoLog(t *testing.T) {
	h := newFixture(t)
	const atOnce = 100 // as package chain lets in
	tries := int64(0)
	try := func() {
		tries++
		h.do(t.Context(), t, "", "DELETE", "/api/v1/organizations/blue/clusters/x", "", "If-Match", "*")
	}
	for range 3 * atOnce {
		try()
	}
	h.await(t, func() bool { // until one more has room in the log
		try()
		page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, ActorKind: audit.Anonymous, Limit: 1000})
		if err != nil || len(page.Records) > 2*atOnce {
			t.Fatalf("the log has %d of %d tries (%v)", len(page.Records), tries, err)
		}
		counted := int64(len(page.Records))
		for _, r := range page.Records {
			n, _ := strconv.ParseInt(r.Detail["leftOut"], 10, 64)
			counted += n
		}
		return counted == tries
	})
}
