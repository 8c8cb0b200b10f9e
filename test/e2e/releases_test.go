//go:build linux

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDownloadedRelease runs a cluster with downloaded programs and raises it to built ones. What is
// downloaded as an older patch are the built programs under another name: no other is on this machine,
// and KQueen cannot tell.
func TestDownloadedRelease(t *testing.T) {
	parallel(t, 2*time.Minute)
	i := newInstallation(t)
	i.releases = filepath.Join(i.base, "releases")
	shareReleases(t, filepath.Join(programs.releases, programs.version), filepath.Join(i.releases, programs.version))
	older := olderPatch(t)
	server := httptest.NewServer(official(t, older))
	defer server.Close()
	i.up()
	manifest := fmt.Sprintf("apiVersion: kqueen.io/v1alpha1\nkind: Release\nmetadata: {name: %s}\nspec: {source: {download: {baseURL: %q}}}\n", older, server.URL+"/release")
	i.kubectl(i.adminKubeconfig(), manifest, "apply", "-f", "-")
	i.kubectl(i.adminKubeconfig(), "", "wait", "--for=condition=Ready", "release/"+older, "--timeout=6m")
	if got := i.ok("release", "list", "-o", "name"); !strings.Contains(got, older) {
		t.Errorf("releases: %q, want %s among them", got, older)
	}

	i.ok("cluster", "create", "demo", "--version", older, "--wait", "--timeout", "5m")
	from := filepath.Join(i.releases, older) + "/"
	runs := i.processes()
	if !slices.ContainsFunc(runs, func(p process) bool { return p.component == "kube-apiserver" && strings.HasPrefix(p.args[0], from) }) {
		t.Errorf("no API server runs from %s: %v", from, runs)
	}
	i.kubectl(i.adminKubeconfig(), "", "patch", "cluster", "demo", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"version":%q}}`, programs.version))
	eventually(t, "the cluster runs the built programs", func(context.Context) error {
		got := i.kubectl(i.adminKubeconfig(), "", "get", "cluster", "demo", "-o", `jsonpath={.status.version} {.status.conditions[?(@.type=="Ready")].status}`)
		if got != programs.version+" True" {
			return errors.New("version and readiness: " + got)
		}
		return nil
	})
	for _, p := range i.processes() {
		if strings.HasPrefix(p.args[0], from) {
			t.Errorf("still runs the older version: %s", p)
		}
	}
	i.kubectl(i.kubeconfig("default", "demo"), "", "get", "ns", "kube-system")
}

// olderPatch is the patch before the one that is built.
func olderPatch(t *testing.T) string {
	t.Helper()
	var major, minor, patch int
	if _, err := fmt.Sscanf(programs.version, "v%d.%d.%d", &major, &minor, &patch); err != nil || patch == 0 {
		t.Skipf("%s has no patch before it", programs.version)
	}
	return fmt.Sprintf("v%d.%d.%d", major, minor, patch-1)
}

// official serves the built programs as the official site serves a version. Those that a control plane
// does not start are a few bytes.
func official(t *testing.T, version string) http.Handler {
	t.Helper()
	built := filepath.Join(programs.releases, programs.version, "kube-apiserver")
	sums := map[bool]string{true: sumOf(t, built), false: hex.EncodeToString(sha256.New().Sum(nil))}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dir, file := path.Split(r.URL.Path)
		name, wantsSum := strings.CutSuffix(file, ".sha256")
		started := slices.Contains([]string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}, name)
		switch {
		case dir != "/release/"+version+"/bin/linux/"+runtime.GOARCH+"/":
			http.NotFound(w, r)
		case wantsSum:
			_, _ = io.WriteString(w, sums[started])
		case started:
			http.ServeFile(w, r, built)
		}
	})
}

func sumOf(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
