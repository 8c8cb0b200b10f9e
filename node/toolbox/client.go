package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// connection is how a server is reached. The zero value verifies certificates, and has no limit of time.
type connection struct {
	insecure  bool
	ca        string            // file with PEM, in the place of the authorities that the program knows
	cert, key string            // files with PEM; key may be empty where cert has both
	timeout   time.Duration     // of the name's lookup and the TCP handshake together
	addresses map[string]string // host:port to host:port, for names that are not looked up
	network   string            // tcp, tcp4 or tcp6
	http1     bool              // HTTP/2 is not offered
	gzip      bool              // a compressed answer is asked for, and unpacked
	direct    bool              // proxies of the environment do not count
	follow    bool              // redirects are followed
}

// client reads the files that the connection names.
func (c connection) client() (*http.Client, error) {
	settings, err := c.tls()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: c.timeout}
	transport := &http.Transport{
		TLSClientConfig: settings, DisableCompression: !c.gzip, ForceAttemptHTTP2: !c.http1,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if other, ok := c.addresses[strings.ToLower(address)]; ok {
				address = other
			}
			return dialer.DialContext(ctx, c.network, address)
		},
	}
	if !c.direct {
		transport.Proxy = http.ProxyFromEnvironment
	}
	client := &http.Client{Transport: transport}
	if !c.follow {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client, nil
}

func (c connection) tls() (*tls.Config, error) {
	settings := &tls.Config{InsecureSkipVerify: c.insecure} //nolint:gosec // what -k asks for
	if c.ca != "" {
		data, err := os.ReadFile(c.ca)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authorities: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s has no certificate: give a file of certificate authorities in PEM", c.ca)
		}
	}
	if c.cert != "" {
		key := c.key
		if key == "" {
			key = c.cert
		}
		pair, err := tls.LoadX509KeyPair(c.cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}

// newRequest is for a URL that may lack its scheme, with headers as in "Name: value". One without a value takes away
// what the client would send.
func newRequest(ctx context.Context, method, url string, headers []string, body io.Reader) (*http.Request, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	for _, header := range headers {
		name, value, ok := strings.Cut(header, ":")
		if value = strings.TrimSpace(value); !ok {
			return nil, fmt.Errorf("header %q has no colon: give it as in \"Name: value\"", header)
		}
		switch {
		case strings.EqualFold(name, "Host"):
			request.Host = value
		case value == "":
			request.Header[http.CanonicalHeaderKey(name)] = nil
		default:
			request.Header.Add(name, value)
		}
	}
	return request, nil
}

// setMissing sets a header that the user has not set or taken away.
func setMissing(headers http.Header, name, value string) {
	if _, ok := headers[name]; !ok {
		headers.Set(name, value)
	}
}

// headOf is the status and the headers of an answer, by name: their order on the wire is not known.
func headOf(response *http.Response) string {
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s\r\n", response.Proto, response.Status)
	_ = response.Header.Write(&head) // a Builder takes everything
	return head.String() + "\r\n"
}
