package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/status"
)

// member is a user who may read one organization, and comes by HTTPS.
type member struct {
	http  *http.Client
	tls   *tls.Config
	url   string
	token string
}

const memberName, memberPassword = "viewer", "a password for this run alone"

// newMember makes the first administrator and a viewer of the organization default and of an empty one, and signs the viewer in.
func newMember(ctx context.Context, inst *installation) (*member, error) {
	ca, err := os.ReadFile(filepath.Join(inst.dir, "api-ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	setup, err := status.NewSetup(ctx, inst.dir)
	if err != nil {
		return nil, err
	}
	m := &member{tls: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, url: setup.API + rest.Prefix}
	m.http = &http.Client{Transport: &http.Transport{TLSClientConfig: m.tls, ForceAttemptHTTP2: true}}
	members := []byte(fmt.Sprintf(`{"members":[{"user":%q,"role":"viewer"}]}`, memberName))
	var session rest.Issued
	var once rest.OneTime
	for _, step := range []struct {
		method, path string
		in, out      any
	}{
		{http.MethodPost, "/setup", rest.SetUp{Token: setup.Token, Name: "root", Password: memberPassword}, nil},
		{http.MethodPost, "/signin", rest.SignIn{Name: "root", Password: memberPassword}, &session},
		{http.MethodPost, "/users", rest.NewUser{Name: memberName}, nil},
		{http.MethodPost, "/users/" + memberName + "/reset", nil, &once},
		{http.MethodPatch, "/organizations/default", rest.Input{Spec: members}, nil},
		{http.MethodPost, "/organizations", rest.Input{Name: "empty", Spec: members}, nil},
	} {
		if err := m.call(ctx, step.method, step.path, step.in, step.out); err != nil {
			return nil, err
		}
		m.token = session.Token
	}
	if err := m.call(ctx, http.MethodPost, "/password", rest.ChoosePassword{Token: once.Token, Password: memberPassword}, nil); err != nil {
		return nil, err
	}
	err = m.call(ctx, http.MethodPost, "/signin", rest.SignIn{Name: memberName, Password: memberPassword}, &session)
	m.token = session.Token
	return m, err
}

func (m *member) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if in == nil {
		body = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, m.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+m.token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
		req.Header.Set("If-Match", "*")
	}
	resp, err := m.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// serverKey is the hash of the server's key, as Chromium is told which one to trust.
func (m *member) serverKey(ctx context.Context, host string) (string, error) {
	dialer := tls.Dialer{Config: m.tls}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:]), conn.Close()
}
