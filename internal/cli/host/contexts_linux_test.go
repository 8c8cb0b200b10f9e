package host

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/connection"
)

// TestForgetInstallation: an installation that is gone leaves nothing in the user's files, and others stay as they are.
func TestForgetInstallation(t *testing.T) {
	home, dir := t.TempDir(), "/data/one"
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("KUBECONFIG", filepath.Join(home, "kubeconfig"))
	t.Setenv(connection.ConfigVariable, filepath.Join(home, "contexts"))
	err := connection.ChangeContexts(t.Context(), func(known *connection.Contexts) error {
		known.Put(connection.Context{Name: "mine", Server: "https://127.0.0.1:8443", Authority: "ours"})
		known.Put(connection.Context{Name: "other", Server: "https://other.example:8443"})
		known.Current = "mine"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	for _, d := range []*connection.API{{DataDir: dir}, {DataDir: "/data/two"}, {Context: connection.Context{Name: "mine"}}, {Context: connection.Context{Name: "other"}}} {
		e := clusteraccess.NewEntry(d, "blue", "demo")
		config.Contexts[e.Name()] = &clientcmdapi.Context{Cluster: e.Name(), AuthInfo: e.Name()}
		if err := e.Mark(config.Contexts[e.Name()]); err != nil {
			t.Fatal(err)
		}
	}
	left := []string{clusteraccess.NewEntry(&connection.API{DataDir: "/data/two"}, "blue", "demo").Name(), "blue.demo@other"}
	if err := clientcmd.WriteToFile(*config, filepath.Join(home, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	forgetInstallation(t.Context(), connection.New(nil, nil, &words), dir, []string{"mine"})
	got, err := clientcmd.LoadFromFile(filepath.Join(home, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	if diff := cmp.Diff(left, slices.Sorted(maps.Keys(got.Contexts))); diff != "" {
		t.Errorf("contexts of kubectl (-want +got):\n%s\n%s", diff, words.String())
	}
	known, err := connection.ReadContexts(filepath.Join(home, "contexts"))
	if err != nil || len(known.Contexts) != 1 || known.Contexts[0].Name != "other" || known.Current != "" {
		t.Errorf("contexts of kqueen: %+v, %v", known, err)
	}
}

// TestForgetWithoutAnswer: a server that does not answer has no cluster taken from the user's kubeconfig.
func TestForgetWithoutAnswer(t *testing.T) {
	home := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(home, "kubeconfig"))
	t.Setenv(connection.DataDirVariable, home)
	config := clientcmdapi.NewConfig()
	e := clusteraccess.NewEntry(&connection.API{DataDir: home}, "blue", "demo")
	config.Contexts[e.Name()] = &clientcmdapi.Context{}
	if err := e.Mark(config.Contexts[e.Name()]); err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*config, filepath.Join(home, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	forgetGoneClusters(t.Context(), connection.New(nil, nil, &bytes.Buffer{}), home)
	if got, err := clientcmd.LoadFromFile(filepath.Join(home, "kubeconfig")); err != nil || got.Contexts[e.Name()] == nil {
		t.Errorf("it is gone: %v", err)
	}
}
