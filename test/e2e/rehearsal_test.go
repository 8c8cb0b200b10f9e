//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// rehearsed is what is stored in a cluster before an upgrade is rehearsed: custom resources in two versions.
const rehearsed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: Secret
metadata: {name: sealed, namespace: default}
stringData: {word: planted}
`

const rehearsedObjects = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: one, namespace: default}
---
apiVersion: example.com/v1alpha1
kind: Thing
metadata: {name: old}
`

// guarded is an application of one replica, which its budget never lets leave a node.
const guarded = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: till, namespace: default}
spec:
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec: {containers: [{name: till, image: "example.com/till:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: till, namespace: default}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: till}}
`

// TestRehearsal tries upgrades in copies of what a cluster stores: what would go wrong is named, the cluster itself stays as it is to the
// last byte, and nothing of a copy is left, also when KQueen is killed meanwhile.
func TestRehearsal(t *testing.T) {
	parallel(t, 2*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "tried", "--version", programs.before, "--wait", "--timeout", patience.String())
	kubeconfig := i.kubeconfig("default", "tried")
	i.kubectl(kubeconfig, rehearsed, "apply", "-f", "-")
	i.kubectl(kubeconfig, "", "wait", "--for=condition=Established", "crd/widgets.example.com", "crd/things.example.com")
	eventually(t, "custom resources are created", func(context.Context) error {
		if r := i.tryKubectl(kubeconfig, rehearsedObjects, "apply", "-f", "-"); r.code != 0 {
			return errors.New(r.stderr)
		}
		return nil
	})
	uid := i.tenants().only("tried").uids[0]
	rehearse := []string{"cluster", "upgrade", "tried", "--to", programs.version, "--rehearse", "--wait", "--timeout", "10m"}

	var before map[string]string
	changed := "not rehearsed"
	for n := 0; n < 3 && changed != ""; n++ { // the controllers of a new cluster may write once more by themselves
		before = i.stored(uid)
		if r := i.kqueen(rehearse...); r.code != 0 {
			t.Errorf("rehearse: exit code %d:\n%s", r.code, r.stderr)
		}
		changed = cmp.Diff(before, i.stored(uid))
	}
	if changed != "" {
		t.Errorf("the rehearsal has changed the cluster (-before +after):\n%s", changed)
	}
	list := &v1alpha1.RehearsalList{}
	if err := i.admin().List(t.Context(), list); err != nil || len(list.Items) == 0 {
		t.Fatalf("rehearsals: %v, %v", list.Items, err)
	}
	tried := list.Items[0].Status
	t.Logf("%+v", tried.Versions)
	if v := tried.Versions; len(v) != 1 || v[0].Objects < int64(len(before)) || v[0].Written < v[0].Objects {
		t.Errorf("of %d objects: %+v", len(before), v)
	}
	if got := i.tenants().names; !slices.Equal(got, []string{"tried"}) {
		t.Errorf("control planes that are left: %v", got)
	}

	i.rollBackByBackup(kubeconfig, uid)
	i.plant(kubeconfig)
	r := i.kqueen(rehearse...)
	want := []string{
		"Blocks DisruptionBudgets: PodDisruptionBudget default/till: minAvailable is 1 of 1: its pods can never leave their node",
		"Blocks ConversionWebhooks: Widget default/one: the webhook of CustomResourceDefinition widgets.example.com does not convert it to v2",
		"Blocks StoredVersions: Thing old: it is stored as example.com/v1alpha1, a version that CustomResourceDefinition things.example.com does not have",
	}
	for _, line := range want {
		if r.code != 1 || !strings.Contains(r.stdout+r.stderr, line) {
			t.Errorf("exit code %d, want 1 and %q in:\n%s", r.code, line, r.stdout+r.stderr)
		}
	}
	i.killRehearsal(uid)
}

// stored is what a control plane has in its store, but what expires by itself and what its API server says of itself every few seconds.
func (i *installation) stored(uid string) map[string]string {
	i.t.Helper()
	prefix := "/kqueen/" + uid + "/"
	all, err := i.store().Get(i.t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		i.t.Fatal(err)
	}
	out := map[string]string{}
	for _, kv := range all.Kvs {
		if key := strings.TrimPrefix(string(kv.Key), prefix); kv.Lease == 0 && !strings.HasPrefix(key, "leases/kube-system/apiserver-") {
			out[key] = fmt.Sprintf("%d %q", kv.ModRevision, kv.Value)
		}
	}
	return out
}

// newer is an object as an API server stores it that stores in the version of its API which came with the newer minor. Those of that minor
// itself do not yet.
const newer = `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy",
	"metadata":{"name":"newer","uid":"7a3f2c1e-0000-4000-8000-000000000001","creationTimestamp":"2026-01-01T00:00:00Z"},
	"spec":{"failurePolicy":"Ignore","reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}],
	"matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},
	"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["endpoints"],"scope":"*"}]}}}`

// rollBackByBackup upgrades the cluster and takes it back, when it has stored what only the newer minor knows: without a terminal that takes
// --yes; what is lost is named, and the cluster has the older version and what it had before, and nothing else.
func (i *installation) rollBackByBackup(kubeconfig, uid string) {
	i.t.Helper()
	i.kubectl(kubeconfig, "", "create", "configmap", "before", "--from-literal=word=planted")
	i.ok("cluster", "upgrade", "tried", "--to", programs.version, "--wait", "--timeout", "10m")
	if _, err := i.store().Put(i.t.Context(), "/kqueen/"+uid+"/mutatingadmissionpolicies/newer", newer); err != nil {
		i.t.Fatal(err)
	}
	i.kubectl(kubeconfig, "", "create", "configmap", "since")
	i.kubectl(kubeconfig, "", "delete", "configmap", "before")
	if r := i.kqueen("cluster", "rollback", "tried"); r.code != 2 {
		i.t.Errorf("without a terminal: exit code %d, want 2:\n%s", r.code, r.stderr)
	}
	r := i.kqueen("cluster", "rollback", "tried", "--dry-run")
	if r.code != 0 || !strings.Contains(r.stdout, "Restore of backup before-tried-") {
		i.t.Errorf("dry run: exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	r = i.kqueen("cluster", "rollback", "tried", "--yes", "--wait", "--timeout", "10m")
	for _, line := range []string{"MutatingAdmissionPolicy newer", "created configmaps/default/since", "deleted configmaps/default/before"} {
		if r.code != 0 || !strings.Contains(r.stderr, line) {
			i.t.Fatalf("exit code %d, want 0 and %q in:\n%s", r.code, line, r.stderr)
		}
	}
	if got := i.kubectl(kubeconfig, "", "version"); !strings.Contains(got, "Server Version: "+programs.before) {
		i.t.Errorf("it runs %s, want %s", got, programs.before)
	}
	if got := i.kubectl(kubeconfig, "", "get", "configmap", "before", "since", "--ignore-not-found", "-o", "name"); strings.TrimSpace(got) != "configmap/before" {
		i.t.Errorf("it has %q, want what it had before", got)
	}
	i.t.Log(i.ok("upgrade", "describe", "tried-back-to-"+programs.before))
}

// plant breaks the conversion of one kind, takes the version from another in which an object of it is stored, and guards an application by a
// budget that lets none of its pods leave the nodes of a pool that the upgrade replaces.
func (i *installation) plant(kubeconfig string) {
	i.t.Helper()
	patch := func(args ...string) { i.kubectl(kubeconfig, "", append([]string{"patch", "crd"}, args...)...) }
	patch("widgets.example.com", "--type=merge", "-p", `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
		"clientConfig":{"service":{"namespace":"default","name":"none"}}}}}}`)
	patch("things.example.com", "--type=json", "-p", `[{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	patch("things.example.com", "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":["v1"]}}`)
	patch("things.example.com", "--type=json", "-p", `[{"op":"remove","path":"/spec/versions/1"}]`)
	i.ok("nodepool", "create", "workers", "--cluster", "tried", "--nodes", "0")
	i.kubectl(kubeconfig, guarded, "apply", "-f", "-")
	i.kubectl(kubeconfig, "", "wait", "--for=jsonpath={.status.expectedPods}=1", "pdb/till", "--timeout=1m")
}

// killRehearsal kills KQueen while a copy is there: the rehearsal ends all the same, and leaves nothing.
func (i *installation) killRehearsal(of string) {
	i.t.Helper()
	i.ok("cluster", "upgrade", "tried", "--to", programs.version, "--rehearse")
	copies := map[string]string{}
	eventually(i.t, "there is a copy", func(context.Context) error {
		all := i.tenants()
		for n, uid := range all.uids {
			if uid != of {
				copies[all.names[n]] = uid
			}
		}
		if len(copies) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	for _, pid := range i.servers() {
		kill(i.t, pid)
	}
	eventually(i.t, "all rehearsals have ended", func(ctx context.Context) error {
		list := &v1alpha1.RehearsalList{}
		if err := i.admin().List(ctx, list, client.InNamespace("org-default")); err != nil {
			return err
		}
		for _, r := range list.Items {
			if r.Status.CompletionTime == nil {
				return fmt.Errorf("rehearsal %s: %+v", r.Name, r.Status.Conditions)
			}
		}
		return nil
	})
	left := tenants{slices.Collect(maps.Keys(copies)), slices.Collect(maps.Values(copies))}
	if traces := i.traces(left); len(traces) > 0 {
		i.t.Errorf("left of the copy: %v", traces)
	}
}
