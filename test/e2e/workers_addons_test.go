//go:build linux

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// kindsOfAddons are those of which an addon has objects.
const kindsOfAddons = "deployments,daemonsets,services,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,apiservices"

// addons: metrics-server tells what nodes use, an autoscaler goes by it, and switched off it leaves nothing.
func (w *workers) addons(t *testing.T) {
	w.ok("cluster", "wait", "demo", "--for=condition=AddonsReady", "--timeout", "3m")
	if said := w.ok("cluster", "describe", "demo"); !regexp.MustCompile(`metrics-server +v0\.[0-9.]+ +Ready`).MatchString(said) {
		t.Errorf("describe does not show the addons:\n%s", said)
	}
	eventually(t, "kubectl top shows both nodes", func(context.Context) error {
		r := w.tryKubectl(w.config, "", "top", "nodes", "--no-headers")
		if lines := strings.Count(r.stdout, "\n"); r.code != 0 || lines != 2 || strings.Contains(r.stdout, "<unknown>") {
			return fmt.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		return nil
	})
	eventually(t, "the autoscaler adds a pod", func(context.Context) error {
		if n := w.kube("get", "deployment", "busy", "-o", "jsonpath={.status.replicas}"); n != "2" {
			return fmt.Errorf("there are %s; %s", n, w.kube("get", "horizontalpodautoscaler", "busy", "--no-headers"))
		}
		return nil
	})
	w.kube("delete", "deployment,horizontalpodautoscaler", "busy", "--cascade=foreground")

	const label = "kqueen.io/addon=metrics-server"
	if found := strings.Fields(w.kube("get", kindsOfAddons, "-A", "-l", label, "-o", "name")); len(found) < 9 {
		t.Errorf("only %v are found by the label, so nothing is looked for", found)
	}
	w.ok("cluster", "update", "demo", "--spec", `{"addons":[{"name":"metrics-server","enabled":false}]}`)
	eventually(t, "nothing of metrics-server is left", func(context.Context) error {
		left := w.kube("get", kindsOfAddons, "-A", "-l", label, "-o", "name") + w.kube("get", "pods", "-A", "-l", "k8s-app=metrics-server", "-o", "name")
		if left != "" {
			return fmt.Errorf("there are %s", left)
		}
		return nil
	})
	if r := w.kqueen("cluster", "update", "demo", "--spec", `{"addons":[{"name":"metric-server"}]}`); r.code == 0 || !strings.Contains(r.stderr, `spec.addons[0].name: `) {
		t.Errorf("an addon that does not exist: exit code %d: %s", r.code, r.stderr)
	}
}
