package pki

import (
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ingressSet(t testing.TB, domains ...string) Set {
	t.Helper()
	set, err := Ingress("u1", domains)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestIngress: a client that trusts the authority believes names below the domains, of one label, and nothing else.
func TestIngress(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	b, _ := issue(t, nil, ingressSet(t, "demo.team-a.example.org", "demo.team-a.localhost"), nil, now)
	leaf, roots := certificate(t, b, "tls"), pool(t, b, "ca")
	for name, want := range map[string]bool{
		"app.demo.team-a.example.org": true, "app.demo.team-a.localhost": true, "demo.team-a.example.org": false, "a.b.demo.team-a.example.org": false,
		"app.demo.team-b.example.org": false,
	} {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now})
		if got := err == nil; got != want {
			t.Errorf("%s is believed: %t (%v), want %t", name, got, err, want)
		}
	}
}

// TestIngressAuthorityIsBounded: not even who has its key speaks for other names or for an address.
func TestIngressAuthorityIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	b, _ := issue(t, nil, ingressSet(t, "demo.team-a.example.org"), nil, now)
	signer, problem := loadAuthority(b, "ca", now)
	if problem != nil {
		t.Fatal(problem)
	}
	for _, leaf := range []Leaf{
		{DNSNames: []string{"www.example.org"}},
		{DNSNames: []string{"demo.team-a.example.org.evil.org"}},
		{DNSNames: []string{"x.demo.team-a.example.org"}, IPs: addrs("192.0.2.1")},
		{DNSNames: []string{"x.demo.team-a.example.org"}, IPs: addrs("2001:db8::1")},
	} {
		leaf.Name, leaf.CommonName, leaf.Usage, leaf.Lifetime = "tls", "x", Server, time.Hour
		text, _, err := signer.sign(leaf, now)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := parseCertificate(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: pool(t, b, "ca"), CurrentTime: now}); err == nil {
			t.Errorf("a certificate for %q and %s is believed", leaf.DNSNames, leaf.IPs)
		}
	}
	if !net.IP(make([]byte, net.IPv4len)).Equal(signer.cert.ExcludedIPRanges[0].IP) {
		t.Errorf("excluded ranges are %v", signer.cert.ExcludedIPRanges)
	}
}

// TestIngressOtherDomains: with another domain the authority keeps its name and its key, and signs for the new one.
func TestIngressOtherDomains(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	before, _ := issue(t, nil, ingressSet(t, "demo.team-a.example.org"), nil, now)
	after, changes := issue(t, before, ingressSet(t, "demo.team-a.example.com"), nil, now)
	var names []string
	for _, c := range changes {
		names = append(names, c.Name+": "+string(c.Reason))
	}
	if diff := cmp.Diff([]string{"ca: " + string(Differs), "tls: " + string(Differs)}, names); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"tls.key", "ca.crt", "tls.crt"}, changedFiles(before, after)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := certificate(t, after, "tls").Verify(x509.VerifyOptions{DNSName: "x.demo.team-a.example.com", Roots: pool(t, after, "ca"), CurrentTime: now}); err != nil {
		t.Error(err)
	}
	if _, again := issue(t, after, ingressSet(t, "demo.team-a.example.com"), nil, now); len(again) > 0 {
		t.Errorf("a second time changes %v", again)
	}
}

func TestIngressRefuses(t *testing.T) {
	for want, ask := range map[string]struct {
		uid     string
		domains []string
	}{
		"uid: ":                         {"", []string{"a.example.org"}},
		"domains: leaf tls:":            {"u1", nil},
		`domains: authority ca: "a..b"`: {"u1", []string{"a..b"}},
		`"*.a.example.org"`:             {"u1", []string{"*.a.example.org"}},
	} {
		if _, err := Ingress(ask.uid, ask.domains); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q of %q: got %v, want %q", ask.domains, ask.uid, err, want)
		}
	}
}
