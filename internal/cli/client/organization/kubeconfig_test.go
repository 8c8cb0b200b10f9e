package organization

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/connection"
)

// give runs a command and returns what it prints and says.
func give(t *testing.T, args ...string) (out, words string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := connection.New(nil, &stdout, &stderr)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(NewCommand(e))
	root.SetArgs(append([]string{"organization"}, args...))
	err = root.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

// TestKubeconfig: a user gets a kubeconfig without a secret, and a program one with its token.
func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	contexts := filepath.Join(dir, "config.yaml")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	text, err := yaml.Marshal(map[string]any{"currentContext": "mine", "contexts": []map[string]string{
		{"name": "mine", "server": "https://kqueen.example.com:8443", "authority": authority, "token": "session"},
	}})
	if err == nil {
		err = os.WriteFile(contexts, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(connection.ConfigVariable, contexts)
	for _, name := range []string{connection.ServerVariable, connection.TokenVariable, connection.CaVariable, connection.DataDirVariable} {
		t.Setenv(name, "")
	}
	mine := filepath.Join(dir, "kubeconfig")
	_, words, err := give(t, "connect", "blue", "--kubeconfig", mine)
	if want := "connected to organization blue: the current context in " + mine + " is blue@mine\nnext: kubectl get clusters\n"; err != nil || words != want {
		t.Fatalf("said %q, %v; want %q", words, err, want)
	}
	got, err := clientcmd.LoadFromFile(mine)
	if err != nil {
		t.Fatal(err)
	}
	user := got.AuthInfos["blue@mine"]
	if user.Token != "" || user.Exec == nil {
		t.Fatalf("the user is %+v", user)
	}
	if diff := cmp.Diff([]string{"organization", "credential", "--context", "mine"}, user.Exec.Args); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if at := got.Clusters["blue@mine"]; at.Server != "https://kqueen.example.com:8443/kubernetes" || string(at.CertificateAuthorityData) != authority {
		t.Errorf("the server is %+v", at)
	}
	if got.Contexts["blue@mine"].Namespace != "org-blue" {
		t.Errorf("the context is %+v", got.Contexts["blue@mine"])
	}
	out, _, err := give(t, "credential", "--context", "mine")
	if want := `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false},"status":{"token":"session"}}` + "\n"; err != nil || out != want {
		t.Errorf("the credential is %q, %v", out, err)
	}
	if _, _, err := give(t, "kubeconfig", "blue", "--embed-token"); err == nil || !strings.Contains(err.Error(), "KQUEEN_TOKEN is not set") {
		t.Errorf("the token of a session is embedded: %v", err)
	}
	t.Setenv(connection.ServerVariable, "https://kqueen.example.com:8443")
	t.Setenv(connection.TokenVariable, "robot")
	out, _, err = give(t, "kubeconfig", "blue", "--embed-token")
	if err != nil || !strings.Contains(out, "token: robot\n") || strings.Contains(out, "exec:") {
		t.Errorf("the kubeconfig of a program is %q, %v", out, err)
	}
	t.Setenv(connection.DataDirVariable, dir) // is not what this is about
	if again, _, err := give(t, "kubeconfig", "blue", "--embed-token"); err != nil || again != out {
		t.Errorf("beside a data directory it is %q, %v", again, err)
	}
}
