//go:build linux

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// chartsImage is what the pods of the charts run: test/charts/program.
const chartsImage = "kqueen.internal/charts:1"

// bringCharts puts the image of the charts where machines find images of the operator's own.
func bringCharts(t *testing.T, dir string) {
	t.Helper()
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sites")
	type object = map[string]any
	plan, err := json.Marshal(object{
		"layers":   object{"programs": object{"files": []object{{"path": "sites", "mode": 0o755, "from": program}, {"path": "etcd", "mode": 0o777, "link": "sites"}}}},
		"archives": []object{{"file": "charts.tar", "images": []object{{"name": chartsImage, "layers": []string{"programs"}, "config": object{"User": "1000"}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	goCommand(t, root, "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./test/charts/program")
	bringImages(t, dir, plan)
}

// bringImages packs images as a plan says (node/images), where machines of the installation in dir find images of the operator's own.
func bringImages(t *testing.T, dir string, plan []byte) {
	t.Helper()
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	file, out := filepath.Join(t.TempDir(), "plan.json"), filepath.Join(dir, "images")
	if err := errors.Join(os.WriteFile(file, plan, 0o600), os.MkdirAll(out, 0o700)); err != nil {
		t.Fatal(err)
	}
	goCommand(t, filepath.Join(root, "node"), "run", "-trimpath", "./images", "-out", out, "-plan", file)
}

func goCommand(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// charts: three applications as users install them, with Helm, are installed and serve.
func (w *workers) charts(t *testing.T) {
	helm, image := filepath.Join(helm(t), "helm"), testImage(t)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), helm, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.config, "HOME="+w.base)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	chart := func(name string) string { return filepath.Join("..", "charts", name) }
	w.kube("create", "namespace", "charts")
	run("install", "store", chart("store"), "--namespace", "charts", "--set", "image="+chartsImage+",testImage="+image)
	run("install", "shop", chart("shop"), "--namespace", "charts", "--set", "image="+image)
	run("install", "sites", chart("sites"), "--namespace", "charts", "--set", "image="+chartsImage+",siteImage="+image, "--wait", "--timeout", "3m")

	t.Run("Operator", w.sitesServe)
	t.Run("Web application", func(t *testing.T) {
		w.kube("rollout", "status", "deployment/shop-shop", "--namespace", "charts", "--timeout=6m")
		run("test", "shop", "--namespace", "charts")
		w.shopServes(t, func() {
			run("upgrade", "shop", chart("shop"), "--namespace", "charts", "--reuse-values", "--set", "greeting=Back", "--wait", "--timeout", "3m")
		})
	})
	t.Run("Database", func(*testing.T) {
		w.kube("rollout", "status", "statefulset/store", "--namespace", "charts", "--timeout=6m")
		run("test", "store", "--namespace", "charts")
	})
	w.kube("delete", "sites", "--all", "--namespace", "charts")
	run("uninstall", "store", "shop", "sites", "--namespace", "charts", "--wait")
	w.kube("delete", "namespace", "charts", "--timeout=6m")
	if left := w.kube("get", "persistentvolumes", "-o", `jsonpath={.items[?(@.spec.claimRef.namespace=="charts")].metadata.name}`); left != "" {
		t.Errorf("volumes are left: %s", left)
	}
	w.kube("delete", "customresourcedefinition", "sites.charts.example")
}

// sitesServe: webhooks complete and refuse objects, and the operator makes what serves them.
func (w *workers) sitesServe(t *testing.T) {
	const site = `{"apiVersion":"charts.example/v1","kind":"Site","metadata":{"name":%q,"namespace":"charts"},"spec":{"text":%q}}`
	if r := w.tryKubectl(w.config, fmt.Sprintf(site, "blank", " "), "create", "-f", "-"); r.code == 0 || !strings.Contains(r.stderr, `admission webhook "check.charts.example" denied the request: spec.text: is blank`) {
		t.Errorf("a site without text: exit code %d: %s", r.code, r.stderr)
	}
	w.kubectl(w.config, fmt.Sprintf(site, "news", "news of today"), "create", "-f", "-")
	w.kube("wait", "--for=jsonpath={.status.ready}=true", "site/news", "--namespace", "charts", "--timeout=6m")
	w.answers(t, "news", "http://news.sites.example/", "", "news of today")
	w.kube("patch", "site", "news", "--namespace", "charts", "--type=merge", "--patch", `{"spec":{"host":"old.sites.example"}}`)
	w.answers(t, "news", "http://old.sites.example/", "", "news of today")
}

// shopServes: what is written by the Ingress, with TLS, is there after an upgrade.
func (w *workers) shopServes(t *testing.T, upgrade func()) {
	const url = "https://shop.example/cgi-bin/book"
	w.answers(t, "shop-shop", url, "", "Welcome")
	w.answers(t, "shop-shop", url, "was here", "was here")
	upgrade()
	w.answers(t, "shop-shop", url, "", "Back\nwas here")
}

// answers asks at the address of an Ingress until the answer has what is wanted. The certificate is the
// chart's own.
func (w *workers) answers(t *testing.T, ingress, url, body, want string) {
	t.Helper()
	eventually(t, url+" says "+want, func(ctx context.Context) error {
		address := w.kube("get", "ingress", ingress, "--namespace", "charts", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if address == "" {
			return errors.New("the Ingress has no address")
		}
		status, said, err := askAt(ctx, address, url, body, &tls.Config{InsecureSkipVerify: true})
		if err == nil && (status != http.StatusOK || !strings.Contains(said, want)) {
			err = fmt.Errorf("status %d: %q", status, said)
		}
		return err
	})
}

// askAt gets a page, or posts a body, at an address, whatever the name in the URL resolves to.
func askAt(ctx context.Context, address, url, body string, config *tls.Config) (status int, said string, err error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   config,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(to)
			if err != nil {
				return nil, err
			}
			return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(address, port))
		},
	}}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<12))
	return response.StatusCode, string(answer), err
}
