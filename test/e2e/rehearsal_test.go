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

	i.plant(kubeconfig)
	r := i.kqueen(rehearse...)
	want := []string{
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

// plant breaks the conversion of one kind, and takes the version from another in which an object of it is stored.
func (i *installation) plant(kubeconfig string) {
	i.t.Helper()
	patch := func(args ...string) { i.kubectl(kubeconfig, "", append([]string{"patch", "crd"}, args...)...) }
	patch("widgets.example.com", "--type=merge", "-p", `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
		"clientConfig":{"service":{"namespace":"default","name":"none"}}}}}}`)
	patch("things.example.com", "--type=json", "-p", `[{"op":"replace","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/1/storage","value":false}]`)
	patch("things.example.com", "--subresource=status", "--type=merge", "-p", `{"status":{"storedVersions":["v1"]}}`)
	patch("things.example.com", "--type=json", "-p", `[{"op":"remove","path":"/spec/versions/1"}]`)
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
