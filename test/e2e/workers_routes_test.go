//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
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
	w.kube("wait", "--for=condition=Programmed", "gateway/front", "--timeout=3m")
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
