package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/tenancy/audit"
)

// clusterLog is that of every control plane, where a test has made the folder.
func (h *fixture) clusterLog(context.Context, types.UID) (*os.Root, error) {
	return os.OpenRoot(h.logs)
}

// event is a line of an API server's audit log.
func event(user, at string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","verb":"create","user":{"username":"` + user + `"},"stageTimestamp":"` + at + `"}` + "\n"
}

// TestClusterAudit: an organization reads what the API server of its cluster has written, whole and in its order.
func TestClusterAudit(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	const path = "/api/v1/organizations/blue/clusters/thing/audit"
	ask := func(who, path string) answer { return h.do(t.Context(), t, who, "GET", path, "") }
	if a := ask("operator", path); a.status != http.StatusOK || string(a.body) != `{"seal":{"events":0,"leftOut":0}}`+"\n" {
		t.Errorf("an empty log: %d %s", a.status, a.body)
	}
	var old bytes.Buffer
	packed := gzip.NewWriter(&old)
	_, _ = packed.Write([]byte(event("first", "2026-01-01T00:00:00Z") + event("second", "2026-01-02T00:00:00Z")))
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"audit-2026-01-02T00-00-00.000.log.gz": old.String(),
		"audit-2026-01-03T00-00-00.000.log":    event("third", "2026-01-03T00:00:00Z"),
		"audit.log":                            event("fourth", "2026-01-04T00:00:00Z") + `{"kind":"Ev`,
		"notes.txt":                            event("stray", "2026-01-04T00:00:00Z"),
		"audit-2025-12-30T00-00-00.000.log.gz": "not compressed",
		"audit-2025-12-31T00-00-00.000.log.gz": old.String()[:old.Len()-9], // cut off
	} {
		if err := os.WriteFile(filepath.Join(h.logs, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(event("planted", "2026-01-01T00:00:00Z")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(h.logs, "audit-2026.log")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(h.logs, "audit-0.log"), 0o600); err != nil { // which no program fills
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                            "first second first second third fourth 6 3",
		"?since=2026-01-02T12:00:00Z": "third fourth 2 3",
		"?since=2027-01-01T00:00:00Z": "0 3",
	} {
		a := ask("operator", path+query)
		var got []string
		for line := range strings.Lines(string(a.body)) {
			if _, user, ok := strings.Cut(line, `"username":"`); ok {
				name, _, _ := strings.Cut(user, `"`)
				got = append(got, name)
			} else {
				got = append(got, strings.NewReplacer(`{"seal":{"events":`, "", `,"leftOut":`, " ", "}}\n", "").Replace(line))
			}
		}
		if strings.Join(got, " ") != want || a.header.Get("Content-Type") != "application/jsonl" {
			t.Errorf("%s: %d %s, want %s", query, a.status, got, want)
		}
	}
	page, err := h.audit.List(t.Context(), audit.Filter{AllOrganizations: true, Action: "export-cluster-audit"})
	if err != nil || len(page.Records) != 4 || page.Records[0].Object.Name != "thing" || page.Records[0].Organization != "blue" {
		t.Errorf("the log has %+v (%v)", page.Records, err)
	}
	if err := os.RemoveAll(h.logs); err != nil {
		t.Fatal(err)
	}
	if a := ask("operator", path); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "spec.auditLog is none") {
		t.Errorf("without a log: %d %s", a.status, a.body)
	}
	if open := h.api.streams.Open(); open != 0 {
		t.Errorf("%d streams are left", open)
	}
}
