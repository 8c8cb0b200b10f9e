//go:build linux

package app

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write golden files")

// TestClusterRoleIsDeployed: what packages say they need is what deploy/ has.
func TestClusterRoleIsDeployed(t *testing.T) {
	file := filepath.Join("..", "..", "deploy", "clusterrole.yaml")
	role, err := yaml.Marshal(ClusterRole())
	if err != nil {
		t.Fatal(err)
	}
	want := "# What KQueen needs on a cluster that is its admin plane. Generated from the packages' Rules; do not edit:\n" +
		"# go test ./internal/app -run TestClusterRoleIsDeployed -update\n" + string(role)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("deploy/clusterrole.yaml is not what the packages need; run this test with -update (-want +got):\n%s", diff)
	}
}
