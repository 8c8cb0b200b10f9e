package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// holder keeps the new cluster, as the finalizer of its reconciler does, until its control plane is gone.
const holder = "kqueen.io/test"

// stepNew takes the part of the reconcilers of the new Cluster and of its ControlPlane.
func (p *place) stepNew(ctx context.Context) (bool, error) {
	c, key := &v1alpha1.Cluster{}, client.ObjectKey{Namespace: p.namespace, Name: "twin"}
	if err := p.client.Get(ctx, key, c); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	cp := &v1alpha1.ControlPlane{}
	err := p.client.Get(ctx, key, cp)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return false, err
	case !c.DeletionTimestamp.IsZero() && err == nil:
		clear(p.newState)
		p.newRunning = false
		return true, p.client.Delete(ctx, cp)
	case !c.DeletionTimestamp.IsZero():
		c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == holder })
		return true, p.client.Update(ctx, c)
	case !slices.Contains(c.Finalizers, holder):
		c.Finalizers = append(c.Finalizers, holder)
		return true, p.client.Update(ctx, c)
	case err != nil:
		return true, p.client.Create(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: "twin", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("Cluster"))},
		}, Spec: v1alpha1.ControlPlaneSpec{Version: c.Spec.Version, StoppedFor: c.Labels[v1alpha1.LabelRestore]}})
	case cp.Status.ObservedGeneration == cp.Generation:
		return false, nil
	}
	return true, p.runNew(ctx, c, cp)
}

// runNew has the control plane of the new cluster do what its spec says.
func (p *place) runNew(ctx context.Context, c *v1alpha1.Cluster, cp *v1alpha1.ControlPlane) error {
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cp.KeysSecret()}, Data: p.newKeys}
	if err := client.IgnoreAlreadyExists(p.client.Create(ctx, keys)); err != nil {
		return err
	}
	p.newRunning = cp.Spec.StoppedFor == ""
	if got, err := p.opened(ctx); p.newRunning && (err != nil || !maps.Equal(got, wantNew)) {
		p.wrong = append(p.wrong, fmt.Sprintf("the API server started with %v: %v", got, err))
	}
	cp.Status.ObservedGeneration, cp.Status.StoppedFor = cp.Generation, cp.Spec.StoppedFor
	apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStoreReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
	if err := p.client.Status().Update(ctx, cp); err != nil || !p.newRunning {
		return err
	}
	apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
	return p.client.Status().Update(ctx, c)
}

// opened is what the new cluster has stored, decrypted.
func (p *place) opened(ctx context.Context) (map[string]string, error) {
	c, err := atrest.NewCipher(p.newKeys)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range p.newState {
		plain, err := c.Open(ctx, []byte(value))
		if err != nil {
			return nil, err
		}
		out[key] = string(plain)
	}
	return out, nil
}

var (
	secretShop = &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "key", UID: "u"}, Data: map[string][]byte{"word": []byte("open")}}
	wantNew    = map[string]string{"configmaps/default/a": "1", "secrets/shop/key": protoOf(secretShop)}
)

// fillPlace has a backup "then" of a cluster with a node, a Secret and what says which cluster it is; the cluster then goes on.
func fillPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	from, err := atrest.NewCipher(p.keys)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := from.Seal(t.Context(), []byte(wantNew["secrets/shop/key"]))
	if err != nil {
		t.Fatal(err)
	}
	p.state["secrets/shop/key"], p.state["configmaps/kube-system/kube-root-ca.crt"] = string(sealed), "old"
	p.backup(t, "then")
	p.change()
	return p
}

// twin creates a Restore of the backup "then" as the new cluster twin.
func (p *place) twin(t *testing.T, change func(*v1alpha1.RestoreSpec)) *v1alpha1.Restore {
	t.Helper()
	rs := &v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "again"}, Spec: v1alpha1.RestoreSpec{BackupName: "then", NewClusterName: "twin"}}
	if change != nil {
		change(&rs.Spec)
	}
	if err := p.client.Create(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	return rs
}

// TestNewCluster: it has what the backup has, by a key of its own, and nothing of the machines and the identity of the other one, which goes on
// or is gone.
func TestNewCluster(t *testing.T) {
	for name, gone := range map[string]bool{"Beside": false, "AfterItsEnd": true} {
		t.Run(name, func(t *testing.T) {
			p := fillPlace(t)
			before := maps.Clone(p.state)
			if gone {
				p.removeCluster(t)
			}
			rs := p.twin(t, nil)
			p.settle(t, rs)
			if rs.Status.CompletionTime == nil || len(p.wrong) > 0 || !p.newRunning {
				t.Fatalf("%s; %v", saysOf(rs), p.wrong)
			}
			got, err := p.opened(t.Context())
			if diff := cmp.Diff(wantNew, got); diff != "" || err != nil {
				t.Errorf("%v -want +got:\n%s", err, diff)
			}
			changes := &v1alpha1.RestoreChanges{Added: 2, Removed: 2, First: []string{"- configmaps/kube-system/kube-root-ca.crt", "- minions/n"}}
			if diff := cmp.Diff(changes, rs.Status.Changes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, p.state); diff != "" || !p.running {
				t.Errorf("the other cluster was touched: %s", diff)
			}
			c := &v1alpha1.Cluster{}
			if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "twin"}, c); err != nil || c.Spec.Version != "v1.36.2" || string(c.UID) != rs.Status.NewClusterUID {
				t.Errorf("the cluster is %s of version %s: %v", c.UID, c.Spec.Version, err)
			}
			if strings.Contains(p.newState["secrets/shop/key"], "open") || rs.Status.ClusterName != "twin" || rs.Status.Saved != "" {
				t.Errorf("the Secret is stored as %q; the restore is of %q and saved %q", p.newState["secrets/shop/key"], rs.Status.ClusterName, rs.Status.Saved)
			}
		})
	}
}

// removeCluster removes the cluster that was backed up, with its keys.
func (p *place) removeCluster(t *testing.T) {
	t.Helper()
	cp := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, cp); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}
	for _, o := range []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cp.KeysSecret()}}, cp, &v1alpha1.Cluster{ObjectMeta: meta}} {
		if err := p.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewClusterRefused: what cannot be is refused before anything is created.
func TestNewClusterRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, p *place)
		change func(*v1alpha1.RestoreSpec)
		want   string
	}{
		"NameTaken": {nil, func(s *v1alpha1.RestoreSpec) { s.NewClusterName = "demo" }, "spec.newClusterName: there is a cluster of that name already"},
		"NoBackup":  {nil, func(s *v1alpha1.RestoreSpec) { s.BackupName = "never" }, "there is no backup never"},
		"Older":     {nil, func(s *v1alpha1.RestoreSpec) { s.NewClusterVersion = "v1.35.1" }, "spec.newClusterVersion: the backup is of v1.36.2"},
		"TooNew":    {nil, func(s *v1alpha1.RestoreSpec) { s.NewClusterVersion = "v1.38.0" }, "spec.newClusterVersion: the backup is of v1.36.2"},
		"Damaged":   {func(_ *testing.T, p *place) { p.spoil("chunks/") }, nil, v1alpha1.ReasonRestoreFailed},
		"NoKeys": {func(t *testing.T, p *place) {
			p.unseal(t)
			p.removeCluster(t)
		}, nil, "has not the key by which its Secrets are encrypted"},
		"ForeignSecret": {func(t *testing.T, p *place) {
			p.state["secrets/shop/other"] = "k8s:enc:secretbox:v1:key9:x"
			b := &v1alpha1.Backup{}
			b.Name, b.Namespace = "then", p.namespace
			if err := p.client.Delete(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			p.settle(t, b)
			p.backup(t, "then")
		}, nil, `"secrets/shop/other": it is encrypted with a key that is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			p := fillPlace(t)
			if c.before != nil {
				c.before(t, p)
			}
			rs := p.twin(t, c.change)
			p.settle(t, rs)
			list := &v1alpha1.ClusterList{}
			if err := p.client.List(t.Context(), list, client.InNamespace(p.namespace), client.HasLabels{v1alpha1.LabelRestore}); err != nil {
				t.Fatal(err)
			}
			if got := saysOf(rs); !strings.Contains(got, c.want) || len(list.Items) > 0 {
				t.Errorf("got %q, want %q and no cluster; there are %d", got, c.want, len(list.Items))
			}
		})
	}
}

// unseal makes the backup one of an earlier version, which has nothing of its cluster with it.
func (p *place) unseal(t *testing.T) {
	t.Helper()
	b := &v1alpha1.Backup{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "then"}, b); err != nil {
		t.Fatal(err)
	}
	of, err := p.world(nil).archiveOf(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	revision := int64(7)
	w, err := archiveWrite(t.Context(), of, p, &revision)
	if err != nil {
		t.Fatal(err)
	}
	b.Status.Digest = w
	if err := p.client.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestNewClusterOfOlderBackup: a backup of an earlier version is restored while its cluster is there.
func TestNewClusterOfOlderBackup(t *testing.T) {
	p := fillPlace(t)
	p.unseal(t)
	rs := p.twin(t, func(s *v1alpha1.RestoreSpec) { s.CompareOnly = true })
	p.settle(t, rs)
	if rs.Status.CompletionTime == nil {
		t.Error(saysOf(rs))
	}
}

// TestNewClusterDeleted: a cluster that its user deletes before it is whole goes, and the restore says so.
func TestNewClusterDeleted(t *testing.T) {
	p := fillPlace(t)
	p.space = 0
	rs := p.twin(t, nil)
	p.settle(t, rs)
	if got := saysOf(rs); !strings.Contains(got, "the data store has no space for it") || p.newRunning || len(p.newState) > 0 {
		t.Fatalf("got %q; it runs: %v with %v", got, p.newRunning, p.newState)
	}
	if err := p.client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "twin"}}); err != nil {
		t.Fatal(err)
	}
	p.settle(t, rs)
	if got := saysOf(rs); !strings.Contains(got, "cluster twin was deleted before all was written") {
		t.Errorf("got %q", got)
	}
}

func TestNewClusterUnderFaults(t *testing.T) {
	create := func(t *testing.T, compareOnly bool) (*place, *v1alpha1.Restore, operatortest.World) {
		p := fillPlace(t)
		rs := p.twin(t, func(s *v1alpha1.RestoreSpec) { s.CompareOnly = compareOnly })
		w := p.worldOf(rs, func() bool { return rs.Status.CompletionTime != nil })
		w.Snapshot = func(ctx context.Context) (any, error) { return p.snapshotNew(ctx, rs) }
		return p, rs, w
	}
	for name, world := range map[string]func(t *testing.T) operatortest.World{
		"Create": func(t *testing.T) operatortest.World {
			_, _, w := create(t, false)
			return w
		},
		"Compare": func(t *testing.T) operatortest.World {
			_, _, w := create(t, true)
			return w
		},
		// Deleted at any moment: there is no cluster, or a whole one that runs.
		"DeleteHalfDone": func(t *testing.T) operatortest.World {
			p, rs, w := create(t, false)
			w.Then = p.deletion(rs)
			w.Snapshot = func(ctx context.Context) (any, error) {
				got, err := p.snapshotNew(ctx, rs)
				if err != nil {
					return nil, err
				}
				e := got.(end)
				half := e.There && !e.Running || !e.There && len(e.State) > 0
				return end{Wrong: e.Wrong, Running: half}, nil
			}
			return w
		},
	} {
		t.Run(name, func(t *testing.T) { operatortest.RunParallel(t, world) })
	}
}

// snapshotNew is the end state of the new cluster.
func (p *place) snapshotNew(ctx context.Context, rs *v1alpha1.Restore) (any, error) {
	state, err := p.opened(ctx)
	if err != nil {
		return nil, err
	}
	e := end{State: state, Running: p.newRunning, Wrong: p.wrong}
	cp, key := &v1alpha1.ControlPlane{}, client.ObjectKey{Namespace: p.namespace, Name: "twin"}
	if err := p.client.Get(ctx, key, cp); err == nil {
		e.There, e.StoppedFor = true, cp.Spec.StoppedFor+cp.Status.StoppedFor
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
		return e, client.IgnoreNotFound(err)
	}
	e.Finalizers = rs.Finalizers
	e.describe(rs)
	return e, nil
}
