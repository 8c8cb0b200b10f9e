//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// setupLink is how `kqueen up` says where the first administrator is created.
var setupLink = regexp.MustCompile(`(https://\S+)/setup\?token=(\S+)`)

// portal does in a browser what a new administrator does, and looks at every page: web/e2e has the steps. It says to them where KQueen is, and
// which cluster has nodes. `make test-browser` runs it alone.
func (w *workers) portal(t *testing.T) {
	said := w.kqueen("up")
	link := setupLink.FindStringSubmatch(said.stderr)
	if link == nil {
		t.Fatalf("kqueen up says nothing of the first administrator: %s", said.stderr)
	}
	web := filepath.Join("..", "..", "web")
	playwright, err := filepath.Abs(filepath.Join(web, "node_modules", ".bin", "playwright"))
	if err == nil {
		_, err = os.Stat(playwright)
	}
	if err != nil {
		t.Fatalf("%v: run make portal", err)
	}
	cmd := w.command(playwright, "test", "first-hour.spec.ts", "then-")
	cmd.Dir = web
	node, err := filepath.Abs(filepath.Join("..", "..", "bin", "tools", "node", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "PATH="+node+":"+filepath.Dir(w.program)+":"+os.Getenv("PATH"), "KQUEEN_SERVER="+link[1], "KQUEEN_SETUP="+link[0], "KQUEEN_IMAGE="+testImage(t), "PORTAL_USER=root", "PORTAL_PASSWORD=correct horse battery", "KQUEEN_CA="+filepath.Join(w.dir, "api-ca.crt"),
		"KUBECTL="+filepath.Join(w.releases, programs.version, "kubectl"))
	through, err := clientcmd.BuildConfigFromFlags("", w.config)
	if err != nil {
		t.Fatal(err)
	}
	// Chromium gives up all that it waits for when an interface of its network comes or goes (net::ERR_NETWORK_CHANGED).
	if r := w.undisturbed(cmd, strings.TrimPrefix(link[1], "https://"), strings.TrimPrefix(through.Host, "https://")); r.code != 0 {
		t.Errorf("the portal, exit code %d; traces are in web/e2e/results:\n%s%s", r.code, r.stdout, r.stderr)
	}
}
