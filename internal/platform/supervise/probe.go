package supervise

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// newProbeClient reads the probe's files. The client keeps no connection: with hundreds of tenants idle TLS connections
// would cost more than handshakes.
func newProbeClient(dir string, p *Probe, timeout time.Duration) (*http.Client, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: p.ServerName}
	if p.CAFile != "" {
		pem, err := os.ReadFile(filepath.Join(dir, p.CAFile))
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", p.CAFile)
		}
	}
	if p.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, p.CertFile), filepath.Join(dir, p.KeyFile))
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// newLifeClient asks processes of which no file is known any more. It does not look at who answers: that something does is all that is
// wanted, and nothing is sent.
func newLifeClient(timeout time.Duration) *http.Client {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // see above
	return &http.Client{Timeout: timeout, Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
}

// ask returns nil when the program says it is ready. The error carries the beginning of its answer: kube-apiserver
// lists there what it still waits for.
func ask(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 512))
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	said := strings.TrimSpace(strings.ToValidUTF8(string(body), "?"))
	return fmt.Errorf("%s: %s", resp.Status, said)
}
