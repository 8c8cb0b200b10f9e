package clusteraccess

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestMergeIntoDamaged: what the user's kubeconfig holds is not lost because it cannot be read.
func TestMergeIntoDamaged(t *testing.T) {
	theirs := clientcmdapi.NewConfig()
	theirs.Clusters["a"] = &clientcmdapi.Cluster{Server: "https://a.example"}
	theirs.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: "t"}
	theirs.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
	theirs.CurrentContext = "a"
	path := filepath.Join(t.TempDir(), "config")
	const damaged = "apiVersion: v1\nkind: Config\nusers: [{name: me"
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	options := clientcmd.NewDefaultPathOptions()
	options.LoadingRules.ExplicitPath = path
	if err := Merge(options, theirs, Entry{Organization: "org", Cluster: "a"}, true, false); err == nil {
		t.Error("it was merged")
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != damaged {
		t.Errorf("the user's kubeconfig is %q, %v", left, err)
	}
}

// TestMergeRefuses wants a kubeconfig that would start programs or read files on the user's machine, or that
// is broken, not to be merged, and the user's own to stay as it is.
func TestMergeRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*clientcmdapi.Config)
		want   string
	}{
		"program":            {func(c *clientcmdapi.Config) { c.AuthInfos["a"].Exec = &clientcmdapi.ExecConfig{Command: "rm"} }, "it starts a program to log in"},
		"token file":         {func(c *clientcmdapi.Config) { c.AuthInfos["a"].TokenFile = "/home/me/secret" }, `it reads the file "/home/me/secret"`},
		"authority file":     {func(c *clientcmdapi.Config) { c.Clusters["a"].CertificateAuthority = "/etc/ca" }, `it reads the file "/etc/ca"`},
		"no current context": {func(c *clientcmdapi.Config) { c.CurrentContext = "" }, "it has no current context"},
		"no user":            {func(c *clientcmdapi.Config) { delete(c.AuthInfos, "a") }, "names a cluster or user that it does not have"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			theirs := clientcmdapi.NewConfig()
			theirs.Clusters["a"] = &clientcmdapi.Cluster{Server: "https://a.example"}
			theirs.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: "t"}
			theirs.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
			theirs.CurrentContext = "a"
			c.change(theirs)
			options := clientcmd.NewDefaultPathOptions()
			options.LoadingRules.ExplicitPath = filepath.Join(t.TempDir(), "config")
			err := Merge(options, theirs, Entry{Organization: "org", Cluster: "a"}, true, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if _, err := os.Stat(options.LoadingRules.ExplicitPath); !os.IsNotExist(err) {
				t.Errorf("the user's kubeconfig was written (%v)", err)
			}
		})
	}
}
