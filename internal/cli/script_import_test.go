//go:build linux

package cli

import (
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/imported"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/egress"
)

// adopting is what knows adopted clusters. It opens the test plane to the kubeconfigs of scripts, for which it is the cluster of others.
func adopting(t *testing.T, config *rest.Config) *cluster.Validator {
	t.Helper()
	address := config.Host
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	guard := &connection.Guard{Allowed: []egress.Destination{{Range: netip.PrefixFrom(at.Addr(), at.Addr().BitLen()), Port: at.Port()}}}
	return &cluster.Validator{
		Client: controlplanetest.Client(t), Drivers: map[string]provision.Driver{"imported": imported.New(imported.Config{Guard: guard})},
	}
}

// planeAsCluster is "plane-kubeconfig FILE [CERTIFICATE]": a kubeconfig for the test plane with the contexts there, exec and bad, with
// its keys in files beside it.
func planeAsCluster(config *rest.Config) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: plane-kubeconfig FILE")
		}
		file := ts.MkAbs(args[0])
		for name, content := range map[string][]byte{"client.crt": config.CertData, "client.key": config.KeyData} {
			ts.Check(os.WriteFile(filepath.Join(filepath.Dir(file), name), content, 0o600))
		}
		server := config.Host
		if u, err := url.Parse(server); err != nil || u.Scheme == "" {
			server = "https://" + server
		}
		k := clientcmdapi.NewConfig()
		k.Clusters["plane"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: config.CAData}
		k.Clusters["insecure"] = &clientcmdapi.Cluster{Server: server, InsecureSkipTLSVerify: true}
		k.AuthInfos["reader"] = &clientcmdapi.AuthInfo{ClientCertificate: "client.crt", ClientKey: "client.key"}
		k.AuthInfos["cloud"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "aws", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
		k.AuthInfos["gone"] = &clientcmdapi.AuthInfo{Token: "expired-canary"}
		for name, of := range map[string][2]string{
			"there": {"plane", "reader"}, "exec": {"plane", "cloud"}, "expired": {"plane", "gone"}, "insecure": {"insecure", "gone"},
		} {
			k.Contexts[name] = &clientcmdapi.Context{Cluster: of[0], AuthInfo: of[1]}
		}
		data, err := clientcmd.Write(*k)
		ts.Check(err)
		ts.Check(os.WriteFile(file, data, 0o600))
	}
}
