package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMendPorts: a reservation that cannot be read is kept under another name, and the workload gets other ports; one that is
// good stays.
func TestMendPorts(t *testing.T) {
	conf := config(t.TempDir())
	for id, text := range map[string]string{"bad": "{", "good": `{"api": 20017}`} {
		dir := filepath.Join(conf.Dir, "workloads", id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, PortsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, conf)
	for _, id := range []string{"good", "new"} {
		if aside, err := s.MendPorts(id); err != nil || aside != "" {
			t.Errorf("%s: set aside as %q, %v", id, aside, err)
		}
	}
	aside, err := s.MendPorts("bad")
	if err != nil || !strings.HasPrefix(aside, filepath.Join(s.Dir("bad"), PortsFile)) {
		t.Fatalf("set aside as %q, %v", aside, err)
	}
	if left, err := os.ReadFile(aside); err != nil || string(left) != "{" {
		t.Errorf("kept was %q, %v", left, err)
	}
	for _, id := range []string{"bad", "good"} {
		place, err := s.Reserve(t.Context(), id, []string{"api"})
		if err != nil || place.Port["api"] == 0 || (place.Port["api"] == 20017) != (id == "good") {
			t.Errorf("%s: got %v, %v", id, place.Port, err)
		}
	}
}
