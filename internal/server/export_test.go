package server

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/tenancy/audit"
)

// TestExports: an export has what it names and a seal, and the audit log says who took it.
func TestExports(t *testing.T) {
	h := newFixture(t)
	for _, organization := range []string{"blue", "red"} {
		name := fmt.Sprintf(`{"name":"exported-%s","spec":{"version":"v9.9.9"}}`, organization)
		if a := h.do(t.Context(), t, "admin", "POST", "/api/v1/organizations/"+organization+"/clusters?dryRun=true", name); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	for path, want := range map[string][2]bool{"/api/v1/audit/export": {true, true}, "/api/v1/organizations/blue/audit/export": {true, false}} {
		a := h.do(t.Context(), t, "admin", "GET", path, "")
		report, err := audit.VerifyExport(bytes.NewReader(a.body), bytes.Repeat([]byte{7}, 32))
		if err != nil || a.status != http.StatusOK || len(report.Problems) > 0 || a.header.Get("Content-Type") != "application/jsonl" {
			t.Errorf("%s: %d %v %+v", path, a.status, err, report)
		}
		got := [2]bool{strings.Contains(string(a.body), "exported-blue"), strings.Contains(string(a.body), "exported-red")}
		if got != want {
			t.Errorf("%s has blue and red: %v, want %v", path, got, want)
		}
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "export"})
	if err != nil || len(page.Records) != 2 || page.Records[0].Actor.Name != "admin" || page.Records[0].Outcome != audit.Succeeded {
		t.Errorf("the log has %+v (%v)", page.Records, err)
	}
	if open := h.api.streams.Open(); open != 0 {
		t.Errorf("%d streams are left", open)
	}
}
