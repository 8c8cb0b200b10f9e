package join

import (
	"strings"
	"testing"
)

// TestFindPrograms: what is not there is named, with what brings it.
func TestFindPrograms(t *testing.T) {
	dir := t.TempDir()
	for version, want := range map[string]string{
		"v1.36.3": "the programs of Kubernetes v1.36.3 are not in " + dir + "; build them with: kqueen release build",
		"latest":  "the cluster's version: ",
		"":        "the cluster's version: ",
	} {
		if _, err := FindPrograms(dir, version, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", version, err, want)
		}
	}
}
