package clusteraccess

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/connection"
)

// TestEntryNames: no two clusters share a name, wherever they are.
func TestEntryNames(t *testing.T) {
	of := func(name, server, dir string) *connection.API {
		return &connection.API{Context: connection.Context{Name: name, Server: server}, DataDir: dir}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		NewEntry(of("", "unix:///x", "/var/lib/kqueen"), "blue", "demo").Name(),
		NewEntry(of("", "unix:///x", "/data/one"), "blue", "demo").Name(),
		NewEntry(of("", "unix:///x", "/data/two"), "blue", "demo").Name(),
		NewEntry(of("kqueen.example.com", "https://kqueen.example.com:8443", ""), "blue", "demo").Name(),
		NewEntry(of("", "https://kqueen.example.com:8443", ""), "blue", "demo").Name(),
		NewEntry(of("mine", "", ""), "a-b", "c").Name(),
		NewEntry(of("mine", "", ""), "a", "b-c").Name(),
		NewEntry(of("mine", "", ""), "a", "").Name(),
	}
	if want := "blue.demo@" + host; names[0] != want || !strings.HasPrefix(names[1], want+"-") {
		t.Errorf("here they are %s and %s, want %s", names[0], names[1], want)
	}
	if diff := cmp.Diff([]string{"blue.demo@kqueen.example.com", "blue.demo@kqueen.example.com:8443", "a-b.c@mine", "a.b-c@mine", "a@mine"}, names[3:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if slices.Sort(names); len(slices.Compact(names)) != 8 {
		t.Errorf("two share a name: %v", names)
	}
}

// TestForget: the contexts of clusters that are gone go, and nothing that is the user's own.
func TestForget(t *testing.T) {
	d := &connection.API{Context: connection.Context{Name: "mine"}}
	demo, other := NewEntry(d, "blue", "demo"), NewEntry(d, "blue", "other")
	config := clientcmdapi.NewConfig()
	add := func(name string, mark *Entry) {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + strings.ReplaceAll(name, "@", ".")}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "t"}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
		if mark != nil {
			if err := mark.Mark(config.Contexts[name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(demo.Name(), &demo)
	add(other.Name(), &other)
	add("renamed", &demo)
	add("blue.demo@theirs", nil)
	config.Contexts["also"] = &clientcmdapi.Context{Cluster: "renamed", AuthInfo: "blue.demo@theirs"}
	config.CurrentContext = demo.Name()
	options := clientcmd.NewDefaultPathOptions()
	options.LoadingRules.ExplicitPath = filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, options.LoadingRules.ExplicitPath); err != nil {
		t.Fatal(err)
	}
	removed, err := Forget(options, func(e Entry) bool { return e.Installation == demo.Installation && e.Cluster == "demo" })
	if err != nil {
		t.Fatal(err)
	}
	left, err := options.GetStartingConfig()
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{removed, slices.Sorted(maps.Keys(left.Contexts)), slices.Sorted(maps.Keys(left.Clusters)), slices.Sorted(maps.Keys(left.AuthInfos)), {left.CurrentContext}}
	want := [][]string{
		{"blue.demo@mine", "renamed"}, {"also", "blue.demo@theirs", "blue.other@mine"},
		{"blue.demo@theirs", "blue.other@mine", "renamed"}, {"blue.demo@theirs", "blue.other@mine"}, {""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removed, contexts, clusters, users, current (-want +got):\n%s", diff)
	}
	if err := demo.CheckFree(left); err != nil {
		t.Errorf("a name that is free: %v", err)
	}
	if err := other.CheckFree(left); err != nil {
		t.Errorf("its own: %v", err)
	}
	theirs := NewEntry(&connection.API{Context: connection.Context{Name: "theirs"}}, "blue", "demo")
	if err := theirs.CheckFree(left); err == nil || !strings.Contains(err.Error(), "kubectl config rename-context blue.demo@theirs NEW") {
		t.Errorf("a context of the user's own: %v", err)
	}
}
