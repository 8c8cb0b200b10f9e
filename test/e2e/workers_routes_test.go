//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	"kqueen.io/kqueen/api/v1alpha1"
)

// routes: an Ingress and a Gateway answer on this host at one address, by host name, with and without TLS.
func (w *workers) routes(t *testing.T) {
	chain, private, err := cert.GenerateSelfSignedCertKey("shop.example", nil, []string{"front.example"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	crt, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := errors.Join(os.WriteFile(crt, chain, 0o600), os.WriteFile(key, private, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.kube("create", "secret", "tls", "routes", "--cert", crt, "--key", key)
	w.apply("routes.yaml")
	address := ""
	eventually(t, "the Ingress has an address", func(context.Context) error {
		if address = w.kube("get", "ingress", "shop", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}"); address == "" {
			return errors.New("it has none")
		}
		return nil
	})
	w.kube("wait", "--for=condition=Programmed", "gateway/front", "--timeout=6m")
	if of := w.kube("get", "gateway", "front", "-o", "jsonpath={.status.addresses[0].value}"); of != address {
		t.Errorf("the Gateway has the address %q, the Ingress %q", of, address)
	}
	trusted := &tls.Config{RootCAs: x509.NewCertPool()}
	trusted.RootCAs.AppendCertsFromPEM(chain)
	for _, url := range []string{"http://shop.example/", "https://shop.example/", "http://front.example/", "https://front.example/"} {
		eventually(t, url+" answers", func(ctx context.Context) error {
			status, said, err := askAt(ctx, address, url, "", trusted)
			if err == nil && (status != http.StatusOK || !strings.HasPrefix(said, "web-")) {
				err = fmt.Errorf("status %d: %q", status, said)
			}
			return err
		})
	}
	if status, said, err := askAt(t.Context(), address, "http://other.example/", "", trusted); err != nil || status != http.StatusNotFound {
		t.Errorf("a name that nobody routes: status %d, %q, %v", status, said, err)
	}
	w.kube("delete", "ingress/shop", "gateway/front", "httproute/front", "secret/routes")
}

// applications: what has a name below the cluster's domain answers at the host's own address, and TLS there is by the certificate that
// the cluster's own authority has signed.
func (w *workers) applications(t *testing.T) {
	var c v1alpha1.Cluster
	if err := json.Unmarshal([]byte(w.ok("cluster", "get", "demo", "-o", "json")), &c); err != nil {
		t.Fatal(err)
	}
	in := c.Status.Ingress
	if in == nil || in.Port == 0 {
		t.Fatalf("the status says of applications: %+v", in)
	}
	name := "own." + in.Domains[len(in.Domains)-1]
	w.kube("create", "ingress", "own", "--rule", name+"/*=web:80")
	trusted := &tls.Config{RootCAs: x509.NewCertPool()}
	trusted.RootCAs.AppendCertsFromPEM([]byte(w.ok("cluster", "ingress-ca", "demo")))
	for _, scheme := range []string{"http", "https"} {
		url := fmt.Sprintf("%s://%s:%d/", scheme, name, in.Port)
		eventually(t, url+" answers", func(ctx context.Context) error {
			status, said, err := askAt(ctx, "127.0.0.1", url, "", trusted)
			if err == nil && (status != http.StatusOK || !strings.HasPrefix(said, "web-")) {
				err = fmt.Errorf("status %d: %q", status, said)
			}
			return err
		})
	}
	foreign := fmt.Sprintf("http://own.other.default.localhost:%d/", in.Port)
	if status, said, err := askAt(t.Context(), "127.0.0.1", foreign, "", nil); err != nil || status != http.StatusNotFound || !strings.HasPrefix(said, "No cluster here") {
		t.Errorf("a name of no cluster: status %d, %q, %v", status, said, err)
	}
	w.kube("delete", "ingress/own")
}
