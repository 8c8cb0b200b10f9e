//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
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
	c := i.admin()
	i.secondStore(t)
	makeObject(t, c, &v1alpha1.Provisioner{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "over-second"},
		Spec:       v1alpha1.ProvisionerSpec{Driver: "hosted", Parameters: &apiextensionsv1.JSON{Raw: []byte(`{"dataStore":"second"}`)}},
	})
	i.ok("cluster", "create", "demo", "--nodes", "1", "--wait", "--timeout", patience.String())
	i.ok("cluster", "create", "elsewhere", "--provisioner", "over-second", "--wait", "--timeout", patience.String())
	w := i.workers("demo")
	w.apply("workloads.yaml")
	for _, of := range []string{"deployment/web", "statefulset/db"} {
		w.kube("rollout", "status", of, "--timeout=3m")
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
	pods := w.kube("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].containerID}{\"\\n\"}{end}")

	i.program = newer
	for _, pid := range i.servers() {
		kill(t, pid)
	}
	i.up()
	for _, name := range []string{"store-gate", "store-gate/second"} {
		eventually(t, "the gate "+name+" runs", func(context.Context) error {
			if i.pidOf(name, "store-gate") == 0 {
				return errors.New("it does not")
			}
			return nil
		})
	}
	for cluster, gate := range map[string]string{"demo": "store-gate", "elsewhere": "store-gate/second"} {
		eventually(t, cluster+" calls its gate", func(ctx context.Context) error { return i.callsGate(ctx, t, cluster, gate) })
	}
	eventually(t, "everything is well", func(ctx context.Context) error { return s.well(ctx, &fault{}) })
	for _, l := range s.loads {
		l.goesOn(t, 20)
	}
	end()
	if now := w.kube("get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].containerID}{\"\\n\"}{end}"); now != pods {
		t.Errorf("the pods were\n%s and are\n%s", pods, now)
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

// callsGate says why a cluster's API server does not call a gate.
func (i *installation) callsGate(ctx context.Context, t *testing.T, cluster, gate string) error {
	cp := &v1alpha1.ControlPlane{}
	if err := i.admin().Get(ctx, client.ObjectKey{Namespace: "org-default", Name: cluster}, cp); err != nil {
		return err
	}
	server, runs := i.pidOf("org-default/"+cluster, "kube-apiserver"), i.pidOf(gate, "store-gate")
	if server == 0 || runs == 0 {
		return errors.New("one of them does not run")
	}
	calls, listens := valueOf(argumentsOf(t, server), "--etcd-servers"), valueOf(argumentsOf(t, runs), "--listen")
	if calls != "https://"+listens {
		return fmt.Errorf("it calls %s, and the gate listens at %s", calls, listens)
	}
	return nil
}
