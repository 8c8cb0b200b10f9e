//go:build linux

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestUpgradeFrom upgrades an installation of an older KQueen to this one, under clients: a cluster with a node, and a cluster over an
// etcd of the operator's own. KQUEEN_E2E_FROM is the path of the older kqueen; "make upgrade" builds it.
func TestUpgradeFrom(t *testing.T) {
	needRoot(t)
	from := os.Getenv("KQUEEN_E2E_FROM")
	if from == "" {
		t.Skip(`KQUEEN_E2E_FROM names no older kqueen; see "make upgrade"`)
	}
	i := newInstallation(t)
	newer := i.program
	i.program = filepath.Join(i.base, "kqueen-before")
	if err := errors.Join(os.Chmod(i.base, 0o755), copyFile(from, i.program, 0o755)); err != nil {
		t.Fatal(err)
	}
	i.up()
	i.secondStore(t)
	i.overSecond(t, "dataStore") // as it was called then
	i.ok("cluster", "create", "demo", "--nodes", "1", "--wait", "--timeout", patience.String())
	i.ok("cluster", "create", "elsewhere", "--provisioner", "over-second", "--wait", "--timeout", patience.String())
	w := i.workers("demo")
	w.apply("workloads.yaml")
	for _, of := range []string{"deployment/web", "statefulset/db"} {
		w.kube("rollout", "status", of, "--timeout=6m")
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s := &soak{installation: i, t: t}
	for _, cluster := range []string{"demo", "elsewhere"} {
		through := i.tenant("default", cluster)
		s.load(ctx, cluster+" by the gateway", through)
		s.load(ctx, cluster+" directly", i.direct(through, cluster))
	}
	s.loads[0].goesOn(t, 10)
	containers := w.startedContainers()

	i.program = newer
	for _, pid := range i.servers() {
		kill(t, pid)
	}
	i.up()
	for cluster, gate := range map[string]string{"demo": "store-gate", "elsewhere": "store-gate/second"} {
		eventually(t, cluster+" calls its gate", func(ctx context.Context) error { return i.callsGate(ctx, t, cluster, gate) })
	}
	eventually(t, "everything is well", func(ctx context.Context) error { return s.well(ctx, &fault{}) })
	for _, l := range s.loads {
		l.goesOn(t, 20)
	}
	end()
	if ended := missing(containers, w.containers()); len(ended) > 0 {
		t.Errorf("containers ended: %v", ended)
	}
	for _, l := range s.loads {
		l.done.Wait()
		for _, o := range l.outages {
			t.Logf("%s: longest without an answer %s; %d reads failed of %d, %d of them too late, watches cut %d; %v", l.name, o.longest, o.failed, l.reads, o.slow, o.cut, o.why)
		}
		if len(l.lost)+len(l.missed) > 0 {
			t.Errorf("%s: lost %v, missed %v", l.name, l.lost, l.missed)
		}
	}
}
