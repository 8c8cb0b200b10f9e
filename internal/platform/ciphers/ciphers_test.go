package ciphers

import (
	"crypto/tls"
	"strings"
	"testing"
)

func TestSuitesAuthenticate(t *testing.T) {
	if len(Suites()) == 0 || len(Suites()) != len(Names()) {
		t.Fatalf("got %d suites with %d names", len(Suites()), len(Names()))
	}
	known := map[uint16]string{}
	for _, s := range tls.CipherSuites() {
		known[s.ID] = s.Name
	}
	for i, id := range Suites() {
		name := known[id]
		if name == "" || name != Names()[i] {
			t.Errorf("%s is none that Go takes for safe", tls.CipherSuiteName(id))
		}
		if !strings.HasPrefix(name, "TLS_ECDHE_") || !strings.Contains(name, "GCM") && !strings.Contains(name, "POLY1305") {
			t.Errorf("%s: want a suite with a key of its own for each connection and with authenticated encryption", name)
		}
	}
}
