package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"

	"kqueen.io/kqueen/internal/platform/ciphers"
)

// cbc are suites of TLS 1.2 that Go would offer by itself and that do not authenticate what they encrypt as one.
var cbc = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
}

// told is what every user of the host is told without a credential: that a program is well and, by an API server, which one it is.
var told = []string{"/healthz", "/livez", "/readyz"}

// TestListenersAskWhoCalls: every port on which a control plane listens is a port of the host, which all its users reach. Without a
// credential none tells anything, and none speaks TLS with a suite that is not among ours.
func TestListenersAskWhoCalls(t *testing.T) {
	n := newTenant(t, *description(t).Issuer)
	n.Issuer, n.WithoutScheduler = nil, false
	n.apply(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(n.Keys["ca.crt"])
	for _, port := range Ports() {
		at := n.place[port.Name].Inside.String()
		for _, path := range []string{"/", "/metrics", "/metrics/cadvisor", "/configz", "/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v", "/statusz", "/flagz", "/logs/", "/api", "/apis", "/openapi/v2"} {
			if status := get(t, n.calls, "https://"+at+path); status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusNotFound {
				t.Errorf("%s answers %s with %d to a caller that has not said who it is", port.Name, path, status)
			}
		}
		for _, path := range told {
			// The controller manager has no /readyz.
			if status := get(t, n.calls, "https://"+at+path); status != http.StatusOK && status != http.StatusNotFound {
				t.Errorf("%s answers %s with %d: probes get no answer", port.Name, path, status)
			}
		}
		dial := func(c *tls.Config) error {
			c.RootCAs, c.MinVersion = roots, max(c.MinVersion, tls.VersionTLS10)
			conn, err := tls.Dial("tcp", at, c)
			if err == nil {
				err = conn.Close()
			}
			return err
		}
		if err := dial(&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: cbc}); err == nil {
			t.Errorf("%s takes a suite of the CBC mode", port.Name)
		}
		if err := dial(&tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
			t.Errorf("%s takes TLS 1.1", port.Name)
		}
		for _, suite := range ciphers.Suites()[:3] { // those of the kind of our keys
			if err := dial(&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}); err != nil {
				t.Errorf("%s does not take %s: %v", port.Name, tls.CipherSuiteName(suite), err)
			}
		}
	}
}

func get(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
