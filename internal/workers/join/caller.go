package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// callTimeout bounds one call, and callBytes what is read of its answer.
	callTimeout = 10 * time.Second
	callBytes   = 1 << 20
)

// caller reads objects of an API server of which nothing is known but its address, so that it needs neither a
// scheme nor discovery.
type caller struct {
	server string
	token  string
	client *http.Client
}

// newCaller trusts servers whose certificate an authority in ca (PEM) has signed. With a nil ca it trusts every server:
// what is read so has to be checked otherwise.
func newCaller(server string, ca []byte, token string, certificates ...tls.Certificate) (*caller, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: certificates}
	if ca == nil {
		conf.InsecureSkipVerify = true // the token's signature and the pinned key are checked instead
	} else {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the certificate authority of the cluster cannot be read")
		}
	}
	return &caller{server: server, token: token, client: &http.Client{
		Timeout:       callTimeout,
		Transport:     &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// refusedError is an answer of the API server that is none of what was asked.
type refusedError struct {
	code    int
	message string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the API server answers %d: %s", e.code, e.message)
}

// get reads the object at a path. What is not there is a *refusedError with the code 404.
func (c *caller) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.server+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, callBytes))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		said := metav1.Status{}
		if err := json.Unmarshal(body, &said); err != nil || said.Message == "" {
			said.Message = http.StatusText(resp.StatusCode)
		}
		return &refusedError{code: resp.StatusCode, message: said.Message}
	}
	return json.Unmarshal(body, into)
}

// hasCode says whether an error is an answer of the API server with this code.
func hasCode(err error, code int) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && refused.code == code
}
