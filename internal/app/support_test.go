//go:build linux

package app

import (
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestSupportSettings: settings are told without the password that one of them may hold, and without what is not named.
func TestSupportSettings(t *testing.T) {
	dir := t.TempDir()
	if _, err := SupportSettings(dir); err == nil {
		t.Error("there are settings where nothing is set up")
	}
	s := &settings{
		Listen: netip.MustParseAddr("192.0.2.1"), Domain: "k.example", GatewayPort: 7443, Database: "postgres://kqueen:hunter2@db/k?password=hunter2",
		Trust: map[string]map[string]string{"keys": {"ca": "hunter2"}},
	}
	if err := s.save(dir); err != nil {
		t.Fatal(err)
	}
	told, err := SupportSettings(dir)
	if err != nil || strings.Contains(string(told), "hunter2") {
		t.Errorf("told are %s, %v", told, err)
	}
	for _, want := range []string{`"listen": "192.0.2.1"`, `"gatewayPort": 7443`, `"database": "postgres"`} {
		if !strings.Contains(string(told), want) {
			t.Errorf("told are %s, without %s", told, want)
		}
	}
	for address, want := range map[string]string{"": "sqlite", "postgresql://u:p@h/d": "postgresql", "host=db password=hunter2": "unknown", "::": "unknown"} {
		if got := databaseKind(address); got != want {
			t.Errorf("%q is told as %q", address, got)
		}
	}
	if err := os.WriteFile(settingsFile(dir), []byte(`{"database":"postgres://u:hunter2@h`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SupportSettings(dir); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("damaged ones: %v", err)
	}
}
