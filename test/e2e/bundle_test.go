//go:build linux

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// bundled are the files of a support bundle, which is to have the status and the events of objects and the logs of clusters. What
// looks for secrets looks through it, too.
func bundled(t *testing.T, i *installation) []place {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(i.ok("support-bundle", "-o", "-")))
	if err != nil {
		t.Fatal(err)
	}
	var out []place
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(header.Name, "kqueen-support/")
		if name == "problems.txt" {
			t.Errorf("the support bundle says that something could not be had:\n%s", data)
		}
		out = append(out, place{"file " + name + " of the support bundle", data})
	}
	wanted := map[string]string{"status.json": `"kube-apiserver"`, "objects/datastore.json": `"status"`, "logs/kqueen/kqueen.log": "serving"}
	if holdsFile(out, "objects/cluster.json", `"kind"`) {
		wanted["objects/cluster.json"], wanted["events.json"] = `"conditions"`, `"reason"`
	}
	for name, want := range wanted {
		if !holdsFile(out, name, want) {
			t.Errorf("the support bundle has no %s with %s", name, want)
		}
	}
	return out
}

func holdsFile(places []place, name, want string) bool {
	for _, p := range places {
		if p.name == "file "+name+" of the support bundle" {
			return strings.Contains(string(p.data), want)
		}
	}
	return false
}
