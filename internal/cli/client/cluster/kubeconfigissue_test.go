package cluster

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// TestOwnProgram: an installation says where its cluster is. Which program runs on this machine, what it is told and what
// is read here are not its to say.
func TestOwnProgram(t *testing.T) {
	config := func(current, cluster string) string {
		return fmt.Sprintf(`{"current-context":%q,"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"clusters":[%s],`+
			`"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/rm","args":["-rf","/"]}}}]}`, current, cluster)
	}
	keys, _, err := pki.Issue(nil, pki.Set{Authorities: []pki.Authority{{Name: "ca", CommonName: "demo", Lifetime: time.Hour}}}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := func(server string, ca []byte) string {
		return fmt.Sprintf(`{"name":"c","cluster":{"server":%q,"tls-server-name":"demo","certificate-authority":"/etc/shadow","certificate-authority-data":%q,`+
			`"proxy-url":"http://evil.example","insecure-skip-tls-verify":true}}`, server, base64.StdEncoding.EncodeToString(ca))
	}
	there := at("https://demo.example:6443", keys["ca.crt"])
	mine := connection.API{Context: connection.Context{Name: "mine"}}
	cases := map[string]struct {
		d        connection.API
		lifetime time.Duration
		made     rest.Kubeconfig
		args     []string
		want     string
	}{
		"of a context":       {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", there)}, args: []string{"--context", "mine"}},
		"of the owner":       {d: connection.API{DataDir: "/var/lib/kqueen"}, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", there)}, args: []string{"--data-dir", "/var/lib/kqueen"}},
		"for a while":        {lifetime: 30 * time.Minute, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", there)}, args: []string{"--lifetime", "30m0s"}},
		"of one cluster":     {made: rest.Kubeconfig{Access: "view", UID: "u --context evil", Kubeconfig: config("x", there)}, args: []string{"--uid", "u --context evil"}},
		"another role":       {d: mine, made: rest.Kubeconfig{Access: "view --context evil", Kubeconfig: config("x", there)}, want: "it does not say where the cluster is, or what you may there"},
		"no current context": {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("", there)}, want: "it does not say where the cluster is"},
		"no cluster":         {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", "")}, want: "it does not say where the cluster is"},
		"no kubeconfig":      {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: "<html>"}, want: "read the kubeconfig of cluster demo: "},
		"nothing":            {d: mine, want: "it does not say where the cluster is"},
		"in the clear":       {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", at("http://demo.example", keys["ca.crt"]))}, want: `server: "http://demo.example": must be a URL such as https://`},
		"no authority":       {d: mine, made: rest.Kubeconfig{Access: "view", Kubeconfig: config("x", at("https://demo.example", nil))}, want: "ca: must hold at least one PEM certificate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := &kubeconfigs{organization: "blue", wanted: clusteraccess.Wanted{Lifetime: c.lifetime}}
			data, err := k.withOwnProgram(&c.d, "demo", &c.made)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || k.ownProgram {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := clientcmd.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			entry := clusteraccess.NewEntry(&c.d, "blue", "demo").Name()
			cluster, user := got.Clusters[entry], got.AuthInfos[entry]
			if cluster == nil || user == nil || user.Exec == nil || !k.ownProgram {
				t.Fatalf("got %s", data)
			}
			want := append([]string{"cluster", "credential", "demo", "--org", "blue", "--access", "view"}, c.args...)
			if diff := cmp.Diff(want, user.Exec.Args); diff != "" || user.Exec.Command != "kqueen" {
				t.Errorf("it starts %s (-want +got):\n%s", user.Exec.Command, diff)
			}
			if cluster.Server != "https://demo.example:6443" || cluster.TLSServerName != "demo" || !bytes.Equal(cluster.CertificateAuthorityData, keys["ca.crt"]) {
				t.Errorf("the cluster is %+v", cluster)
			}
			if cluster.CertificateAuthority != "" || cluster.ProxyURL != "" || cluster.InsecureSkipTLSVerify {
				t.Errorf("the server has its way with %+v", cluster)
			}
		})
	}
}
