package upgrade

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// backedUp creates a backup of the cluster as the version before had it.
func (p *place) backedUp(t *testing.T, name, version string) {
	t.Helper()
	cluster, plane, err := p.both(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Spec: v1alpha1.BackupSpec{ClusterName: "demo"}}
	if err := p.client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.Status.Digest, b.Status.Version, b.Status.ClusterUID, b.Status.ControlPlaneUID = "sha256:bb", version, string(cluster.UID), string(plane.UID)
	if err := p.client.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// stepRestores has restores write what they restore, as package backup does: the control plane stands still for them, and one that is written
// while it does not emulate the older minor is wrong.
func (p *place) stepRestores(ctx context.Context) (bool, error) {
	list := &v1alpha1.RestoreList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	_, plane, err := p.both(ctx)
	if err != nil {
		return false, err
	}
	held := func(rs v1alpha1.Restore) bool { return string(rs.UID) == plane.Spec.StoppedFor }
	if plane.Spec.StoppedFor != "" && !slices.ContainsFunc(list.Items, held) { // it was taken back
		plane.Spec.StoppedFor = ""
		return true, p.client.Update(ctx, plane)
	}
	for i := range list.Items {
		rs := &list.Items[i]
		if rs.Status.CompletionTime != nil {
			continue
		}
		if !rs.Spec.CompareOnly && plane.Spec.StoppedFor == "" {
			plane.Spec.StoppedFor = string(rs.UID)
			return true, p.client.Update(ctx, plane)
		}
		if !rs.Spec.CompareOnly && plane.Status.EmulatedVersion != "v1.35" {
			p.wrong = append(p.wrong, "a backup was restored before the control plane emulated its minor")
		}
		if !rs.Spec.CompareOnly {
			p.restored++
			p.stored = nil
			plane.Spec.StoppedFor = ""
			if err := p.client.Update(ctx, plane); err != nil {
				return false, err
			}
		}
		now := metav1.NewTime(p.now)
		rs.Status.CompletionTime, rs.Status.Changes = &now, &v1alpha1.RestoreChanges{Added: 1, Changed: 2, Removed: 3}
		if !rs.Spec.CompareOnly {
			rs.Status.Saved = "before"
		}
		return true, p.client.Status().Update(ctx, rs)
	}
	return false, nil
}
