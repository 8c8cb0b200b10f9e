//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/confine"
)

// plantSecrets puts a secret into every field of the API that takes or gives one and that the test has not used yet.
func plantSecrets(t *testing.T, i *installation, root, member, other *api, organization, cluster string) {
	t.Helper()
	token := rest.NewToken{Name: "planted", Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	var issued rest.Issued
	// With a key it is kept that it was created, and not the answer.
	member.want(http.StatusCreated, "POST", "/me/tokens", token, &issued, "Idempotency-Key", "planted")
	member.want(http.StatusConflict, "POST", "/me/tokens", token, &rest.Problem{}, "Idempotency-Key", "planted")
	member.keep("Issued.token", issued.Token)
	accounts := "/organizations/" + organization + "/serviceaccounts"
	root.want(http.StatusCreated, "POST", accounts, rest.NewServiceAccount{Name: "planted", Role: "viewer"}, nil)
	root.want(http.StatusCreated, "POST", accounts+"/planted/tokens", token, &issued)
	root.keep("Issued.token", issued.Token)

	const changed = "marker-of-a-changed-password-b08e"
	other.want(http.StatusNoContent, "POST", "/me/password", rest.ChangePassword{Old: apiPassword, Password: changed}, nil)
	other.keep("ChangePassword.old", apiPassword)
	other.keep("ChangePassword.password", changed)

	var glass rest.Kubeconfig
	root.want(http.StatusOK, "POST", "/organizations/"+organization+"/clusters/"+cluster+"/breakglass", nil, &glass)
	config, err := clientcmd.Load([]byte(glass.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		lines := strings.Split(string(user.ClientKeyData), "\n")
		if len(lines) < 4 {
			t.Fatal("the kubeconfig of the cluster's own administrator has no key")
		}
		root.keep("Kubeconfig.kubeconfig", lines[1])
	}
	const inside = "marker-in-a-secret-of-the-cluster-2fd7"
	planted := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "planted"}, StringData: map[string]string{"k": inside}}
	secrets := clientset(t, i.tenant(organization, cluster)).CoreV1().Secrets(metav1.NamespaceDefault)
	if _, err := secrets.Create(t.Context(), planted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	root.keep("a Secret of the cluster", inside)
	plantSignIns(root)
	plantProviders(root, member, organization)
	plantJoin(member, organization, cluster)
	plantAgent(root)
	// What is wrong is not repeated either.
	root.want(http.StatusUnauthorized, "POST", "/signin", rest.SignIn{Name: "root", Password: changed}, &rest.Problem{})
}

// plantSignIns begins the ways to sign in that have several steps.
func plantSignIns(root *api) {
	root.t.Helper()
	var device rest.DeviceAuthorization
	root.want(http.StatusOK, "POST", "/device", url.Values{"client_id": {"planted"}}, &device)
	root.want(http.StatusNoContent, "POST", "/device/answer", rest.DeviceAnswer{UserCode: device.UserCode, Approve: true}, nil)
	var session rest.AccessToken
	root.want(http.StatusOK, "POST", "/device/token", url.Values{"grant_type": {rest.DeviceGrant}, "device_code": {device.DeviceCode}}, &session)
	root.keep("AccessToken.access_token", session.Token)
	root.keep("DeviceAuthorization.device_code", device.DeviceCode)
	root.keep("TokenRequest.device_code", device.DeviceCode)
	const code, verifier = "marker-of-a-code-91ab", "marker-of-a-verifier-0c4e-marker-of-a-verifier-0c4e"
	exchange := rest.CodeExchange{Code: code, CodeVerifier: verifier, RedirectURI: "http://127.0.0.1:1/"}
	root.want(http.StatusUnauthorized, "POST", "/code", exchange, &rest.Problem{})
	root.keep("CodeExchange.code", code)
	root.keep("CodeExchange.codeVerifier", verifier)
}

// plantProviders gives an identity provider and a provisioner what they prove themselves with elsewhere.
func plantProviders(root, member *api, organization string) {
	root.t.Helper()
	const client, cloud = "marker-of-a-client-secret-5d70", "marker-of-a-cloud-token-77e1"
	root.want(http.StatusCreated, "POST", "/identityproviders", rest.Input{Name: "planted", Spec: json.RawMessage(
		`{"issuer":"https://login.example.com","clientID":"kqueen"}`)}, nil)
	root.want(http.StatusNoContent, "PUT", "/identityproviders/planted/secret", rest.ClientSecret{Secret: client}, nil)
	root.keep("ClientSecret.secret", client)
	provisioners := "/organizations/" + organization + "/provisioners"
	root.want(http.StatusCreated, "POST", provisioners, rest.Input{Name: "planted", Spec: json.RawMessage(`{"driver":"hosted"}`)}, nil)
	root.want(http.StatusNoContent, "PUT", provisioners+"/planted/credentials", map[string]string{"token": cloud}, nil)
	root.keep("the credentials of a provisioner", cloud)
	member.want(http.StatusOK, "GET", provisioners+"/planted", nil, nil)
	root.want(http.StatusOK, "GET", provisioners+"/planted/credentials", nil, nil)
}

// plantAgent asks for what an agent in an adopted cluster enrolls with, and lets the cluster go.
func plantAgent(root *api) {
	root.t.Helper()
	const clusters = "/organizations/default/clusters" // of the other one the quota is used up
	spec := json.RawMessage(`{"provisionerRef":{"name":"imported","namespace":"kqueen-system"}}`)
	root.want(http.StatusCreated, "POST", clusters, rest.Input{Name: "planted", Spec: spec}, nil)
	var start rest.AgentToken
	root.want(http.StatusOK, "POST", clusters+"/planted/agent", rest.AgentTokenRequest{Image: "example.invalid/agent:none"}, &start)
	for _, field := range []string{"token", "manifests", "command"} {
		root.keep("AgentToken."+field, start.Token) // it is what is secret of each
	}
	root.want(http.StatusAccepted, "DELETE", clusters+"/planted", nil, nil, "If-Match", "*")
}

// plantJoin asks for the token with which a machine of the user's own joins a cluster.
func plantJoin(member *api, organization, cluster string) {
	member.t.Helper()
	pools, machines := "/organizations/"+organization+"/nodepools", "/organizations/"+organization+"/machines"
	member.want(http.StatusCreated, "POST", pools, rest.Input{Name: "joined", Spec: json.RawMessage(fmt.Sprintf(
		`{"clusterName":%q,"replicas":1,"template":{"provider":"manual"}}`, cluster))}, nil)
	var token rest.JoinToken
	eventually(member.t, "a machine can join", func(context.Context) error {
		var all rest.List
		member.want(http.StatusOK, "GET", machines, nil, &all)
		if len(all.Items) != 1 {
			return fmt.Errorf("there are %d machines", len(all.Items))
		}
		if got := member.call("POST", machines+"/"+all.Items[0].Name+"/join", nil, &token); got != http.StatusOK {
			return fmt.Errorf("the answer is %d", got)
		}
		return nil
	})
	_, secret, ok := strings.Cut(token.Token, ".")
	if !ok {
		member.t.Fatal("the token to join with has no secret part")
	}
	member.keep("JoinToken.token", token.Token)
	member.keep("the secret part of JoinToken.token", secret)
}

// forOthers says whether others than the owner may read or change a file, and the one user of a control plane's programs,
// who is alone in that group.
func forOthers(info os.FileInfo) bool {
	if gid := info.Sys().(*syscall.Stat_t).Gid; gid >= confine.FirstUser && gid <= confine.LastUser {
		return info.Mode().Perm()&0o037 != 0
	}
	return info.Mode().Perm()&0o077 != 0
}

// kept is what the installation has in files of its own, but for keys and settings, which only their owner may read.
func kept(t *testing.T, i *installation) []place {
	t.Helper()
	var out []place
	for _, file := range files(t, i.dir) {
		name, err := filepath.Rel(i.dir, file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(name, "/")
		switch {
		case first == "etcd" || first == "etcd-admin" || first == "logs": // looked at as what is stored and said
		case first == "keys" || strings.HasPrefix(first, "settings.json") || strings.HasSuffix(name, ".key"):
			if info, err := os.Stat(file); err == nil && forOthers(info) {
				t.Errorf("%s is for others, too: %s", name, info.Mode())
			}
		default:
			out = append(out, read(t, file))
		}
	}
	return out
}

// tenantSaid is what a cluster tells all of its users.
func (i *installation) tenantSaid(organization, cluster string) []place {
	i.t.Helper()
	config, out := i.kubeconfig(organization, cluster), []place(nil)
	for name, args := range map[string][]string{
		"events of the cluster": {"get", "events", "-A", "-o", "json"}, "metrics of the cluster": {"get", "--raw", "/metrics"},
		"ConfigMaps of the cluster": {"get", "configmaps", "-A", "-o", "json"},
	} {
		out = append(out, place{name, []byte(i.kubectl(config, "", args...))})
	}
	return out
}

// told is what the API tells an administrator of everything that can be read, and the exported log.
func (d *api) told() []place {
	d.t.Helper()
	begin := len(*d.answers)
	for path := range d.document().Paths {
		for name, value := range map[string]string{
			"{organization}": "payments", "{cluster}": "demo", "{user}": "alice", "{serviceAccount}": "planted", "{provisioner}": "hosted", "{release}": programs.version,
		} {
			path = strings.ReplaceAll(path, name, value)
		}
		if below, ok := strings.CutPrefix(path, rest.Prefix); ok && !strings.Contains(below, "{") {
			d.call("GET", below, nil, nil)
		}
	}
	return slices.Clone((*d.answers)[begin:])
}

// document is what the test needs of the API's own document.
type document struct {
	Paths      map[string]json.RawMessage
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Format     string
	Properties map[string]schema
}

func (d *api) document() document {
	d.t.Helper()
	resp, err := d.client.Get(strings.TrimSuffix(d.url, rest.Prefix) + "/openapi.json")
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc document
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		d.t.Fatal(err)
	}
	return doc
}

// secretsStay looks for all secrets in places and in what was answered. Each field of the document that holds a secret
// needs one.
func (d *api) secretsStay(t *testing.T, places []place) {
	t.Helper()
	for name, s := range d.document().Components.Schemas {
		for property, p := range s.Properties {
			if field := name + "." + property; p.Format == "password" && len(d.secrets[field]) == 0 {
				t.Errorf("no secret was planted in %s: do it in plantSecrets", field)
			}
		}
	}
	d.secretsAbsent(t, places)
	for field, secrets := range d.secrets {
		for _, secret := range secrets {
			d.answeredOnce(t, field, secret)
		}
	}
}

// secretsAbsent looks for all secrets in places.
func (d *api) secretsAbsent(t *testing.T, places []place) {
	t.Helper()
	found := false
	for _, p := range places {
		found = found || bytes.Contains(p.data, []byte("alice"))
	}
	all := 0
	for _, secrets := range d.secrets {
		all += len(secrets)
	}
	t.Logf("%d secrets are looked for in %d places", all, len(places))
	if !found {
		t.Errorf("the name of a user was not found in %d places: the search sees nothing", len(places))
	}
	for field, secrets := range d.secrets {
		for _, secret := range secrets {
			forms := notations(secret)
			for _, p := range places {
				if holds(p.data, forms) {
					t.Errorf("what was in %s (%.6s…) is readable in %s", field, secret, p.name)
				}
			}
		}
	}
}

// answeredOnce says that a secret was in the one answer that gives it, and in no other.
func (d *api) answeredOnce(t *testing.T, field, secret string) {
	t.Helper()
	var in []string
	forms := notations(secret)
	for _, a := range *d.answers {
		if holds(a.data, forms) && !slices.Contains(in, a.name) { // the answer to a repeated request is the same one
			in = append(in, a.name)
		}
	}
	if len(in) > 1 || strings.HasSuffix(field, "assword") && len(in) > 0 {
		t.Errorf("what was in %s (%.6s…) is in %v", field, secret, in)
	}
}

// notations are a secret as it is, and as it is written in JSON, in Secrets and in dumps of a database.
func notations(secret string) [][]byte {
	forms := [][]byte{
		[]byte(secret), []byte(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "=")), []byte(hex.EncodeToString([]byte(secret))),
	}
	if quoted, err := json.Marshal(secret); err == nil && string(quoted) != `"`+secret+`"` {
		forms = append(forms, bytes.Trim(quoted, `"`))
	}
	return forms
}

func holds(data []byte, forms [][]byte) bool {
	return slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(data, form) })
}

// encrypted says that every Secret is ciphertext in etcd, the admin plane's and the clusters'.
func encrypted(t *testing.T, places []place) {
	t.Helper()
	counts := map[string]int{}
	for _, p := range places {
		key, ok := strings.CutPrefix(p.name, "key ")
		if before, _, is := strings.Cut(key, "/secrets/"); ok && is {
			counts[before]++
			if !bytes.HasPrefix(p.data, []byte("k8s:enc:")) {
				t.Errorf("%s is no ciphertext", p.name)
			}
		}
	}
	if len(counts) < 2 {
		t.Errorf("there are Secrets in %s, want some of the admin plane and of a cluster", fmt.Sprint(counts))
	}
}
