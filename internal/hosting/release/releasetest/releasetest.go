// Package releasetest fills stores of releases for tests, without a build: with programs that do nothing.
//
// It hides how programs get into a store. Only tests may import it.
package releasetest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/release"
)

// Store returns the folder of a store that has every program of a version, as after a download. What nodes are made of
// beside these is not in it.
func Store(t *testing.T, version string) string {
	t.Helper()
	v, err := release.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(serve))
	defer server.Close()
	dir := t.TempDir()
	source := release.Source{Download: &release.Download{BaseURL: server.URL}}
	if _, err := release.NewStore(dir).Ensure(t.Context(), v, source, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Built is as [Store], but as after a build of what control planes run: what nodes run would be in a folder of its own,
// which is not there yet.
func Built(t *testing.T, version string) string {
	t.Helper()
	dir := Store(t, version)
	manifest := filepath.Join(dir, version, "release.json")
	content, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	built := strings.Replace(string(content), `"kind": "download"`, `"kind": "build"`, 1)
	if built == string(content) {
		t.Fatalf("%s does not say that it was downloaded:\n%s", manifest, content)
	}
	if err := os.WriteFile(manifest, []byte(built), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve answers with a program, or with its hash.
func serve(w http.ResponseWriter, r *http.Request) {
	name, wantsHash := strings.CutSuffix(path.Base(r.URL.Path), ".sha256")
	content := "#!/bin/true " + name + "\n"
	if wantsHash {
		content = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	_, _ = io.WriteString(w, content) //nolint:gosec // no browser reads it
}
