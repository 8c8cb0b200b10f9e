//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// api is the REST API of an installation, as a client that trusts its authority calls it.
type api struct {
	t      *testing.T
	url    string
	client *http.Client
	token  string
	// secrets are all that were handed out or in, which no other caller may ever see, by the field of the document that
	// they were in, and answers what was answered so far.
	secrets map[string][]string
	answers *[]place
}

const apiPassword = "marker-of-a-password-7c1d"

func (i *installation) api() *api {
	i.t.Helper()
	ca, err := os.ReadFile(filepath.Join(i.dir, "api-ca.crt"))
	if err != nil {
		i.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	var status struct{ API string }
	if err := json.Unmarshal([]byte(i.ok("status", "-o", "json")), &status); err != nil {
		i.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	i.t.Cleanup(transport.CloseIdleConnections)
	return &api{t: i.t, url: status.API + rest.Prefix, client: &http.Client{Transport: transport, Timeout: patience}, secrets: map[string][]string{}, answers: &[]place{}}
}

// call sends a body, when there is one, and reads the answer into out, when there is one.
func (d *api) call(method, path string, body, out any, headers ...string) int {
	d.t.Helper()
	var data []byte
	var err error
	media := "application/json"
	if form, ok := body.(url.Values); ok {
		data, media = []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else if body != nil {
		if data, err = json.Marshal(body); err != nil {
			d.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, bytes.NewReader(data))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	*d.answers = append(*d.answers, place{fmt.Sprintf("the answer to %s %s", method, path), answer})
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			d.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
		}
	} else if resp.StatusCode >= http.StatusBadRequest {
		d.t.Logf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	return resp.StatusCode
}

// want is call for who knows the status.
func (d *api) want(status int, method, path string, body, out any, headers ...string) {
	d.t.Helper()
	if got := d.call(method, path, body, out, headers...); got != status {
		d.t.Fatalf("%s %s: %d, want %d", method, path, got, status)
	}
}

// as signs a user in.
func (d *api) as(name string) *api {
	d.t.Helper()
	var issued rest.Issued
	d.want(http.StatusOK, "POST", "/signin", rest.SignIn{Name: name, Password: apiPassword}, &issued)
	d.keep("SignIn.password", apiPassword)
	d.keep("Issued.token", issued.Token)
	caller := *d
	caller.token = issued.Token
	return &caller
}

// member makes a user and lets them choose a password.
func (d *api) member(name string) {
	d.t.Helper()
	var once rest.OneTime
	d.want(http.StatusCreated, "POST", "/users", rest.NewUser{Name: name}, nil)
	d.want(http.StatusOK, "POST", "/users/"+name+"/reset", nil, &once)
	d.want(http.StatusNoContent, "POST", "/password", rest.ChoosePassword{Token: once.Token, Password: apiPassword}, nil)
	d.keep("OneTime.token", once.Token)
	d.keep("ChoosePassword.token", once.Token)
	d.keep("ChoosePassword.password", apiPassword)
}

// keep remembers a secret that was in a field.
func (d *api) keep(field, secret string) { d.secrets[field] = append(d.secrets[field], secret) }

// setup creates the first administrator with the token that the owner of the data directory is given.
func (i *installation) setup(d *api) *api {
	i.t.Helper()
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(i.dir, "kqueen.sock"))
	}}}
	req, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, "http://kqueen/setup-token", http.NoBody)
	if err != nil {
		i.t.Fatal(err)
	}
	resp, err := local.Do(req)
	if err != nil {
		i.t.Fatal(err)
	}
	defer resp.Body.Close()
	var setup struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&setup); err != nil || setup.Token == "" {
		i.t.Fatalf("no token for the first administrator: %v", err)
	}
	d.keep("SetUp.token", setup.Token)
	d.keep("SetUp.password", apiPassword)
	d.want(http.StatusCreated, "POST", "/setup", rest.SetUp{Token: setup.Token, Name: "root", Password: apiPassword}, nil)
	d.want(http.StatusUnauthorized, "POST", "/setup", rest.SetUp{Token: setup.Token, Name: "second", Password: apiPassword}, nil)
	return d.as("root")
}

// ready waits by a watch until a cluster is ready.
func (d *api) ready(path string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path+"?watch=true", http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	resp, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e rest.Event
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); !ok || json.Unmarshal([]byte(data), &e) != nil || e.Object == nil {
			continue
		}
		var status struct {
			Conditions []struct{ Type, Status string }
		}
		if err := json.Unmarshal(e.Object.Status, &status); err != nil {
			continue
		}
		for _, c := range status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return
			}
		}
	}
	d.t.Fatal("the watch ended before the cluster was ready")
}

// TestMember does what an ordinary member of an organization does, who is no administrator and has no way to the
// machine but HTTPS.
func TestMember(t *testing.T) {
	i := newInstallation(t)
	// Machines elsewhere reach it, so that it gives out what they join with.
	i.ok(append([]string{"up", "--timeout", "5m", "--listen", "0.0.0.0"}, ports(t)...)...)
	d := i.api()
	root := i.setup(d)
	for _, name := range []string{"alice", "dora", "mallory"} {
		root.member(name)
	}
	root.want(http.StatusCreated, "POST", "/organizations", rest.Input{Name: "payments", Spec: json.RawMessage(
		`{"members":[{"user":"alice","role":"operator"},{"user":"dora","role":"developer"}],"quota":{"clusters":1}}`)}, nil)
	alice, dora, mallory := d.as("alice"), d.as("dora"), d.as("mallory")

	const clusters = "/organizations/payments/clusters"
	demo := rest.Input{Name: "demo", Spec: json.RawMessage(fmt.Sprintf(`{"version":%q}`, programs.version))}
	// The organization's namespace and rights take a moment.
	eventually(t, "a member creates a cluster", func(context.Context) error {
		if got := alice.call("POST", clusters, demo, nil); got != http.StatusCreated {
			return fmt.Errorf("the answer is %d", got)
		}
		return nil
	})
	var refused rest.Problem
	alice.want(http.StatusForbidden, "POST", clusters, rest.Input{Name: "more", Spec: demo.Spec}, &refused)
	if refused.Code != rest.CodeQuotaExceeded {
		t.Errorf("a second cluster is refused with %q: %s", refused.Code, refused.Detail)
	}
	dora.want(http.StatusForbidden, "DELETE", clusters+"/demo", nil, nil, "If-Match", "*")
	mallory.want(http.StatusNotFound, "GET", clusters+"/demo", nil, nil)
	alice.ready(clusters)

	var enters func() result
	t.Run("Credential", func(t *testing.T) { enters = memberEnters(t, i, alice, dora, clusters+"/demo") })
	t.Run("Through", func(t *testing.T) { memberEntersThrough(t, dora, "payments", "demo") })
	t.Run("BreakGlass", func(t *testing.T) {
		alice.want(http.StatusForbidden, "POST", clusters+"/demo/breakglass", nil, nil)
		mallory.want(http.StatusNotFound, "POST", clusters+"/demo/breakglass", nil, nil)
	})
	t.Run("Load", func(t *testing.T) { bearsLoad(t, i, alice, mallory, clusters, "demo") })
	// What lets a caller in is made by users who have just signed in.
	root, alice = d.as("root"), d.as("alice")
	t.Run("Secrets", func(t *testing.T) {
		plantSecrets(t, i, root, alice, mallory, "payments", "demo")
		places := append(stored(t, i), said(t, i)...)
		places = append(places, kept(t, i)...)
		places = append(places, i.tenantSaid("payments", "demo")...)
		encrypted(t, places)
		root.secretsStay(t, append(places, root.told()...))
	})
	t.Run("Disabled", func(t *testing.T) {
		root.want(http.StatusOK, "PATCH", "/users/dora", rest.UserChange{Disabled: new(true)}, &rest.User{})
		dora.want(http.StatusUnauthorized, "GET", clusters, nil, nil)
		begun := time.Now()
		eventually(t, "what dora got for the cluster is refused there", func(context.Context) error {
			if r := enters(); !strings.Contains(r.stderr, "Unauthorized") {
				return fmt.Errorf("%s %s", r.stdout, r.stderr)
			}
			return nil
		})
		t.Logf("what dora got for the cluster was refused there after %s", time.Since(begun).Round(time.Second))
	})
	t.Run("PastTheAPI", func(t *testing.T) { pastAPI(t, i, root) })
	t.Run("OrganizationGoes", func(t *testing.T) { accountsGo(t, root) })
	alice.want(http.StatusAccepted, "DELETE", clusters+"/demo", nil, nil, "If-Match", "*")
	var report rest.AuditReport
	root.want(http.StatusOK, "POST", "/audit/verification", nil, &report)
	if len(report.Problems) > 0 || report.Records < 10 {
		t.Errorf("the audit log has %d records and problems %v", report.Records, report.Problems)
	}
}

// memberEnters uses credentials of members in the cluster, as kubectl does. What it returns does so with dora's once more.
func memberEnters(t *testing.T, i *installation, alice, dora *api, cluster string) (again func() result) {
	t.Helper()
	var config rest.Kubeconfig
	var credential rest.ClusterCredential
	dora.want(http.StatusOK, "POST", cluster+"/kubeconfig", rest.KubeconfigRequest{}, &config)
	if config.Access != "edit" || strings.Contains(config.Kubeconfig, "client-key") || !strings.Contains(config.Kubeconfig, "exec:") {
		t.Errorf("the kubeconfig of a developer has access %q, and says\n%s", config.Access, config.Kubeconfig)
	}
	file := filepath.Join(i.base, "kubeconfig")
	if err := os.WriteFile(file, []byte(config.Kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	dora.want(http.StatusForbidden, "POST", cluster+"/credential", rest.CredentialRequest{Access: "cluster-admin"}, nil)
	dora.want(http.StatusOK, "POST", cluster+"/credential", rest.CredentialRequest{LifetimeSeconds: 600}, &credential)
	dora.keep("ClusterCredential.token", credential.Token)
	if until := time.Until(credential.Expires); until > 10*time.Minute || until < 8*time.Minute {
		t.Errorf("a credential for ten minutes lasts %s", until)
	}
	kubectl := func(args ...string) result {
		return i.run(i.command(programs.kubectl, append([]string{"--kubeconfig", file, "--token", credential.Token}, args...)...))
	}
	if r := kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"); r.stdout != "kqueen:dora" {
		t.Errorf("in the cluster dora is %q: %s", r.stdout, r.stderr)
	}
	if r := kubectl("create", "deployment", "web", "--image=example"); r.code != 0 {
		t.Errorf("a developer creates a Deployment: %s", r.stderr)
	}
	if r := kubectl("create", "clusterrole", "all", "--verb=*", "--resource=*"); r.code == 0 {
		t.Error("a developer made a ClusterRole")
	}
	// What runs there is not bounded by the level of the cluster's pods.
	eventually(t, "a developer is kept from kube-system", func(context.Context) error {
		if r := kubectl("create", "deployment", "web", "--image=example", "-n", "kube-system", "--dry-run=server"); !strings.Contains(r.stderr, "changes nothing in kube-system") {
			return fmt.Errorf("%s %s", r.stdout, r.stderr)
		}
		return nil
	})
	if r := kubectl("auth", "can-i", "impersonate", "serviceaccounts", "-n", "kube-system"); r.code == 0 {
		t.Error("a developer may act as a controller")
	}
	doras := credential.Token
	alice.want(http.StatusOK, "POST", cluster+"/credential", rest.CredentialRequest{}, &credential)
	alice.keep("ClusterCredential.token", credential.Token)
	if r := kubectl("create", "clusterrole", "pods", "--verb=get", "--resource=pods"); r.code != 0 || credential.Access != "cluster-admin" {
		t.Errorf("an operator makes a ClusterRole: %s %s", credential.Access, r.stderr)
	}
	return func() result {
		return i.run(i.command(programs.kubectl, "--kubeconfig", file, "--token", doras, "auth", "whoami"))
	}
}

// accountsGo deletes an organization: its service account is none of the next organization's of that name.
func accountsGo(t *testing.T, root *api) {
	const short = "/organizations/short"
	root.want(http.StatusCreated, "POST", "/organizations", rest.Input{Name: "short", Spec: json.RawMessage("{}")}, nil)
	root.want(http.StatusCreated, "POST", short+"/serviceaccounts", rest.NewServiceAccount{Name: "ci", Role: "owner"}, nil)
	var issued rest.Issued
	root.want(http.StatusCreated, "POST", short+"/serviceaccounts/ci/tokens", rest.NewToken{Name: "ci", Expires: time.Now().Add(time.Hour)}, &issued)
	root.keep("Issued.token", issued.Token)
	ci := *root
	ci.token = issued.Token
	ci.want(http.StatusOK, "GET", "/me", nil, nil)
	root.want(http.StatusAccepted, "DELETE", short, nil, nil, "If-Match", "*")
	eventually(t, "the organization is gone", func(context.Context) error {
		if got := root.call("GET", short, nil, nil); got != http.StatusNotFound {
			return fmt.Errorf("it is answered with %d", got)
		}
		return nil
	})
	root.want(http.StatusCreated, "POST", "/organizations", rest.Input{Name: "short", Spec: json.RawMessage("{}")}, nil)
	ci.want(http.StatusUnauthorized, "GET", "/me", nil, nil)
	root.want(http.StatusNotFound, "GET", short+"/serviceaccounts/ci", nil, nil)
}
