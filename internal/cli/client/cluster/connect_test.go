package cluster

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
)

// TestConnect: a cluster becomes the current context, under a name of its own, and the user is told how to go back and what
// comes next; deleting the cluster removes the context, and no other.
func TestConnect(t *testing.T) {
	const kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: demo\ncontexts: [{name: demo, context: {cluster: demo, user: boss}}]\n" +
		"clusters: [{name: demo, cluster: {server: 'https://demo.example:6443'}}]\nusers: [{name: boss, user: {token: secret}}]\n"
	made, err := json.Marshal(rest.Kubeconfig{Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			clitest.Say(w, http.StatusOK, clitest.JSON, string(made))
		case r.Method == http.MethodDelete:
			clitest.Say(w, http.StatusAccepted, clitest.JSON, `{}`)
		case strings.HasSuffix(r.URL.Path, "/nodepools"):
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"items":[]}`)
		default:
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"kind":"Cluster","name":"demo","organization":"blue","uid":"u","revision":"1"}`)
		}
	})
	dir, file := clitest.Serve(t, answers), filepath.Join(t.TempDir(), "config")
	t.Setenv(connection.DataDirVariable, dir)
	t.Setenv("KUBECONFIG", file)
	mine, err := clientcmd.Load([]byte("apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts: [{name: mine, context: {cluster: mine, user: mine}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*mine, file); err != nil {
		t.Fatal(err)
	}
	give := func(args ...string) string {
		t.Helper()
		var words bytes.Buffer
		e := connection.New(nil, &bytes.Buffer{}, &words)
		root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
		e.Flags.Register(root)
		root.AddCommand(NewCommand(e))
		root.SetArgs(append(args, "--org", "blue"))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return words.String()
	}
	words := give("cluster", "connect", "demo")
	got, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.CurrentContext, "blue.demo@") || got.Contexts["mine"] == nil || got.Clusters[got.CurrentContext].Server != "https://demo.example:6443" {
		t.Errorf("the kubeconfig is %+v", got)
	}
	want := "connected to cluster demo: the current context in " + file + " is " + got.CurrentContext + "\ngo back with: kubectl config use-context mine\nnext: kubectl get namespaces\n"
	if words != want {
		t.Errorf("said %q, want %q", words, want)
	}
	name := got.CurrentContext
	if words := give("cluster", "delete", "demo", "--yes", "--wait=false"); !strings.Contains(words, "removed the context "+name+" from your kubeconfig\n") {
		t.Errorf("said %q", words)
	}
	if got, err = clientcmd.LoadFromFile(file); err != nil || got.Contexts[name] != nil || got.Clusters[name] != nil || got.Contexts["mine"] == nil {
		t.Errorf("after the cluster is deleted: %+v, %v", got, err)
	}
}
