//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClusterUpgrade brings a cluster with two nodes and an application to the next minor, and back, under clients of its API server and of
// the application: none of their requests fails, no write is lost, no change is missing in what they watch; the nodes are replaced within the
// application's budget, and all objects stay.
func TestClusterUpgrade(t *testing.T) {
	needRoot(t)
	parallel(t, 4*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "demo", "--version", programs.before, "--nodes", "2", "--wait", "--timeout", patience.String())
	w := i.workers("demo")
	w.apply("upgraded.yaml")
	w.kube("rollout", "status", "deployment/shop", "--timeout=6m")
	if got := w.versions(); !slices.Equal(got, []string{programs.before, programs.before}) {
		t.Fatalf("the kubelets are %v, want two of %s", got, programs.before)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s := &soak{installation: i, t: t}
	through := i.tenant("default", "demo")
	s.load(ctx, "by the gateway", through)
	s.load(ctx, "directly", i.direct(through, "demo"))
	for _, l := range s.loads {
		l.goesOn(t, 10)
	}
	budget := make(chan error, 1)
	go func() { budget <- w.available(ctx, "shop") }()
	v := visit(ctx, t, i.direct(through, "demo"))

	i.ok("cluster", "upgrade", "demo", "--to", programs.version, "--dry-run")
	i.ok("cluster", "upgrade", "demo", "--to", programs.version, "--wait", "--timeout", "15m")
	if got := w.versions(); !slices.Equal(got, []string{programs.version, programs.version}) {
		t.Errorf("the kubelets are %v, want two of %s", got, programs.version)
	}
	t.Log(i.ok("upgrade", "describe", "demo-"+programs.version))
	for _, l := range s.loads {
		l.goesOn(t, 10)
	}
	objects := w.objects()
	i.ok("cluster", "rollback", "demo", "--dry-run")
	i.ok("cluster", "rollback", "demo", "--rehearse", "--wait", "--timeout", "5m")
	i.ok("cluster", "rollback", "demo", "--yes", "--wait", "--timeout", "15m")
	if got := w.versions(); !slices.Equal(got, []string{programs.before, programs.before}) {
		t.Errorf("the kubelets are %v, want two of %s", got, programs.before)
	}
	if lost := missing(objects, w.objects()); len(objects) < 50 || len(lost) > 0 {
		t.Errorf("of %d objects are gone: %v", len(objects), lost)
	}
	t.Log(i.ok("upgrade", "describe", "demo-back-to-"+programs.before))
	for _, l := range s.loads {
		l.goesOn(t, 10)
	}
	end()
	if err := <-budget; err != nil {
		t.Errorf("the application: %v", err)
	}
	v.done.Wait()
	v.flawless(t)
	for _, l := range s.loads {
		l.done.Wait()
		l.flawless(t)
	}
	w.kube("rollout", "status", "deployment/shop", "--timeout=6m")
	if got := w.kube("get", "secret", "kept", "-o", "jsonpath={.data.marker}"); got != "cGxhbnRlZA==" {
		t.Errorf("the Secret holds %q", got)
	}
}

// flawless: nothing that this load did has failed, or taken seconds. On a host that is busy with other tests an answer may be late.
func (l *load) flawless(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.outages[l.fault]
	t.Logf("%s: %d reads, %d writes, longest without an answer %s, %d watches began anew", l.name, l.reads, l.acknowledged, o.longest, o.cut)
	if o.failed > o.slow || l.refused > 0 {
		t.Errorf("%s: %d of %d reads failed, %d of them too late, and %d writes: %v", l.name, o.failed, l.reads, o.slow, l.refused, errors.Join(o.why, l.whyRefused))
	}
	if len(l.lost)+len(l.missed)+l.relists > 0 {
		t.Errorf("%s: lost %v, missed %v, lists begun anew: %d", l.name, l.lost, l.missed, l.relists)
	}
}

// objects are what users and controllers have stored, each with its UID, but for what comes and goes with nodes and pods.
func (w *workers) objects() []string {
	w.t.Helper()
	var out []string
	of := "namespaces,configmaps,secrets,services,serviceaccounts,deployments,daemonsets,poddisruptionbudgets,roles,rolebindings,clusterroles,clusterrolebindings,customresourcedefinitions,storageclasses,priorityclasses"
	for line := range strings.Lines(w.kube("get", of, "-A", "-o", `jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\n"}{end}`)) {
		if !strings.Contains(line, "/bootstrap-token-") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// versions are those of the kubelets of the nodes that are ready.
func (w *workers) versions() []string {
	w.t.Helper()
	var out []string
	for line := range strings.Lines(w.kube("get", "nodes", "-o", `jsonpath={range .items[*]}{.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status} {.spec.unschedulable}{"\n"}{end}`)) {
		if version, state, _ := strings.Cut(strings.TrimSpace(line), " "); state == "True" {
			out = append(out, version)
		}
	}
	slices.Sort(out)
	return out
}

// available is an error when a Deployment has, at any time until ctx ends, no replica that is available.
func (w *workers) available(ctx context.Context, deployment string) error {
	tick := time.NewTicker(5 * beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		r := w.tryKubectl(w.config, "", "get", "deployment", deployment, "-o", "jsonpath={.status.availableReplicas}")
		if ctx.Err() == nil && (r.code != 0 || r.stdout == "" || r.stdout == "0") {
			return fmt.Errorf("%q of its replicas are available: %s", r.stdout, r.stderr)
		}
	}
}
