//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(chain)
	for _, url := range []string{"http://shop.example/", "https://shop.example/", "http://front.example/", "https://front.example/"} {
		eventually(t, url+" answers", func(ctx context.Context) error {
			status, said, err := askAt(ctx, address, url, roots)
			if err == nil && (status != http.StatusOK || !strings.HasPrefix(said, "web-")) {
				err = fmt.Errorf("status %d: %q", status, said)
			}
			return err
		})
	}
	if status, said, err := askAt(t.Context(), address, "http://other.example/", roots); err != nil || status != http.StatusNotFound {
		t.Errorf("a name that nobody routes: status %d, %q, %v", status, said, err)
	}
	w.kube("delete", "ingress/shop", "gateway/front", "httproute/front", "secret/routes")
}

// askAt fetches a page from an address, whatever the name in the URL resolves to.
func askAt(ctx context.Context, address, url string, roots *x509.CertPool) (status int, said string, err error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(to)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(address, port))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<12))
	return response.StatusCode, string(body), err
}
