package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

var update = flag.Bool("update", false, "write the golden files anew")

func kubeconfigParams(f fixture) KubeconfigParams {
	return KubeconfigParams{
		Cluster: "shop", Context: "admin@shop", User: "admin", Server: "https://192.0.2.1:6443", TLSServerName: "a1.acme.kqueen.example", Namespace: "web",
		CA: f.bundle["ca.crt"], ClientCert: f.bundle["admin.crt"], ClientKey: f.bundle["admin.key"],
	}
}

func TestKubeconfigReadBack(t *testing.T) {
	f := newFixture(t, start)
	p := kubeconfigParams(f)
	out, err := Kubeconfig(p)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Kubeconfig(p); err != nil || !slices.Equal(out, again) {
		t.Errorf("the same params give other bytes, %v", err)
	}
	got, err := clientcmd.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	want := api.NewConfig()
	want.CurrentContext = "admin@shop"
	cluster, user, context := api.NewCluster(), api.NewAuthInfo(), api.NewContext()
	cluster.Server, cluster.TLSServerName, cluster.CertificateAuthorityData = p.Server, p.TLSServerName, p.CA
	user.ClientCertificateData, user.ClientKeyData, user.ImpersonateUserExtra = p.ClientCert, p.ClientKey, nil
	context.Cluster, context.AuthInfo, context.Namespace = "shop", "admin", "web"
	want.Clusters["shop"], want.AuthInfos["admin"], want.Contexts["admin@shop"] = cluster, user, context
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("clientcmd.Load (-want +got):\n%s", diff)
	}
	for _, word := range []string{"insecure-skip-tls-verify", "certificate-authority:", "client-key:"} {
		if strings.Contains(string(out), word) {
			t.Errorf("kubeconfig says %s", word)
		}
	}
}

// TestKubeconfigIsAccepted takes what client-go makes of a kubeconfig to a server with the API server's certificate, for a
// user of one hour.
func TestKubeconfigIsAccepted(t *testing.T) {
	now := time.Now()
	f := newFixture(t, now)
	alice := Set{Leaves: []Leaf{{Name: "alice", Authority: "ca", CommonName: "alice", Organizations: []string{"devs"}, Usage: Client, Lifetime: time.Hour}}}
	user, _ := issue(t, nil, alice, f.bundle, now)
	if diff := cmp.Diff([]string{"alice.key", "alice.crt"}, user.Names()); diff != "" {
		t.Errorf("a user's bundle (-want +got):\n%s", diff)
	}
	p := kubeconfigParams(f)
	p.ClientCert, p.ClientKey = user["alice.crt"], user["alice.key"]
	out, err := Kubeconfig(p)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(out)
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	sni := make(chan string, 1)
	server := &tls.Config{
		Certificates: []tls.Certificate{pair(t, f.bundle, "apiserver")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(t, f.bundle, "ca"),
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { sni <- hello.ServerName; return nil, nil },
	}
	client := &tls.Config{RootCAs: roots, ServerName: config.ServerName, Certificates: []tls.Certificate{own}}
	serverErr, clientErr, name := handshake(t, server, client)
	if serverErr != nil || clientErr != nil || name != "alice" {
		t.Errorf("want alice let in, got %q, %v, %v", name, serverErr, clientErr)
	}
	if got := <-sni; got != p.TLSServerName {
		t.Errorf("SNI: want %s, got %s", p.TLSServerName, got)
	}
}

// TestKubeconfigOfExecUser compares what users are given with testdata/exec.golden, and asks client-go whether it
// would run the command.
func TestKubeconfigOfExecUser(t *testing.T) {
	p := kubeconfigParams(newFixture(t, start))
	p.User, p.Context, p.ClientCert, p.ClientKey = "alice", "alice@shop", nil, nil
	p.Exec = &ExecUser{
		Command: "kqueen", Args: []string{"cluster", "credential", "shop", "--organization", "acme"},
		InstallHint: "kqueen gives you access to this cluster; install it and run: kqueen login",
	}
	out, err := Kubeconfig(p)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "exec.golden"), strings.ReplaceAll(string(out), base64.StdEncoding.EncodeToString(p.CA), "CA"))
	config, err := clientcmd.RESTConfigFromKubeConfig(out)
	if err != nil {
		t.Fatal(err)
	}
	if e := config.ExecProvider; e == nil || e.Command != "kqueen" || e.ProvideClusterInfo || e.InteractiveMode != api.IfAvailableExecInteractiveMode {
		t.Errorf("what client-go would run: %+v", e)
	}
	if config.ServerName != p.TLSServerName || !bytes.Equal(config.CAData, p.CA) || config.Host != p.Server {
		t.Errorf("server, name and authority are not as for other users: %+v", config)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestKubeconfigNamesTheFieldThatIsWrong(t *testing.T) {
	f := newFixture(t, start)
	cases := map[string]struct {
		alter func(*KubeconfigParams)
		want  []string
	}{
		"Good":       {alter: func(*KubeconfigParams) {}},
		"Optional":   {alter: func(p *KubeconfigParams) { p.TLSServerName, p.Namespace = "", "" }},
		"NoUser":     {alter: func(p *KubeconfigParams) { p.User = "" }, want: []string{`cluster "shop", context "admin@shop", user ""`}},
		"PlainHTTP":  {alter: func(p *KubeconfigParams) { p.Server = "http://192.0.2.1:6443" }, want: []string{"server"}},
		"NoHost":     {alter: func(p *KubeconfigParams) { p.Server = "https://:6443" }, want: []string{"server"}},
		"HostPort":   {alter: func(p *KubeconfigParams) { p.Server = "192.0.2.1:6443" }, want: []string{"server"}},
		"ServerName": {alter: func(p *KubeconfigParams) { p.TLSServerName = "a b" }, want: []string{"tlsServerName"}},
		"Namespace":  {alter: func(p *KubeconfigParams) { p.Namespace = "Web" }, want: []string{"namespace"}},
		"CA":         {alter: func(p *KubeconfigParams) { p.CA = p.ClientKey }, want: []string{"ca"}},
		"Exec": {alter: func(p *KubeconfigParams) {
			p.ClientCert, p.ClientKey, p.Exec = nil, nil, &ExecUser{Command: "kqueen"}
		}},
		"ExecPath": {alter: func(p *KubeconfigParams) {
			p.ClientCert, p.ClientKey, p.Exec = nil, nil, &ExecUser{Command: "/usr/local/bin/kqueen"}
		}},
		"ExecBeside":  {alter: func(p *KubeconfigParams) { p.Exec = &ExecUser{Command: "kqueen"} }, want: []string{"clientCert, clientKey"}},
		"ExecNothing": {alter: func(p *KubeconfigParams) { p.ClientCert, p.ClientKey, p.Exec = nil, nil, &ExecUser{} }, want: []string{"exec.command"}},
		"ExecRelative": {alter: func(p *KubeconfigParams) {
			p.ClientCert, p.ClientKey, p.Exec = nil, nil, &ExecUser{Command: "./kqueen"}
		}, want: []string{"exec.command"}},
		"KeyMismatch": {alter: func(p *KubeconfigParams) { p.ClientKey = f.bundle["scheduler.key"] }, want: []string{"clientCert, clientKey"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := kubeconfigParams(f)
			tc.alter(&p)
			out, err := Kubeconfig(p)
			if diff := cmp.Diff(tc.want, fields(err)); diff != "" || (out == nil) != (err != nil) {
				t.Errorf("fields (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// TestKubernetesReadsOurKeys uses the reader with which its components open these files.
func TestKubernetesReadsOurKeys(t *testing.T) {
	b := newFixture(t, start).bundle
	for name, data := range b {
		switch {
		case strings.HasSuffix(name, ".key"):
			if _, err := keyutil.ParsePrivateKeyPEM(data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case strings.HasSuffix(name, ".pub"):
			if keys, err := keyutil.ParsePublicKeysPEM(data); err != nil || len(keys) != 1 {
				t.Errorf("%s: %d keys, %v", name, len(keys), err)
			}
		}
	}
}

func TestBundlesDoNotPrintKeys(t *testing.T) {
	b := Bundle{"ca.key": []byte("secret")}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		// %d and %x of the secret would be 115 101 99... and 736563...
		if out := fmt.Sprintf(format, b); strings.Contains(out, "secret") || strings.Contains(out, "115") || !strings.Contains(out, "ca.key") {
			t.Errorf("%s prints %s", format, out)
		}
	}
}
