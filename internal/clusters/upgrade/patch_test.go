package upgrade

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestPatchFor(t *testing.T) {
	for name, c := range map[string]struct {
		reason, spec, runs, tried, releases, want string
	}{
		"Newest":      {"Of its minor.", "v1.35.4", "v1.35.4", "", "v1.35.5 v1.35.10 v1.35.9 v1.36.3", "v1.35.10"},
		"Unusable":    {"What cannot be used is left out.", "v1.35.4", "v1.35.4", "", "v1.35.5 v1.35.6=torn", "v1.35.5"},
		"Older":       {"There is nothing newer.", "v1.35.4", "v1.35.4", "", "v1.35.3 v1.35.4 v1.36.3", ""},
		"Tried":       {"Once is enough: a user has ended it, or gone back.", "v1.35.4", "v1.35.4", "v1.35.5", "v1.35.5", ""},
		"TriedBefore": {"Another one has come.", "v1.35.4", "v1.35.4", "v1.35.5", "v1.35.5 v1.35.6", "v1.35.6"},
		"OnTheWay":    {"It is being changed.", "v1.36.3", "v1.35.4", "", "v1.35.5", ""},
		"Unknown":     {"It does not run yet.", "v1.35.4", "", "", "v1.35.5", ""},
	} {
		o := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Version: c.spec}}
		o.Status.Version, o.Annotations = c.runs, map[string]string{v1alpha1.AnnotationPatchedTo: c.tried}
		if got := patchFor(o, known(t, c.releases)); got != c.want {
			t.Errorf("%s: %s got %q, want %q", name, c.reason, got, c.want)
		}
	}
	for _, m := range []*v1alpha1.Maintenance{nil, {}, {UpgradeChannel: v1alpha1.UpgradeChannelNone}} {
		if onPatchChannel(&v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Maintenance: m}}) {
			t.Errorf("%+v asks for patches", m)
		}
	}
}

// onPatches has the cluster of a place follow the channel Patch, of which there is a newer patch.
func (p *place) onPatches(t *testing.T) *v1alpha1.Cluster {
	t.Helper()
	r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "v1.35.5"}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}}
	if err := client.IgnoreAlreadyExists(p.client.Create(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	cluster, _, err := p.both(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Maintenance = &v1alpha1.Maintenance{UpgradeChannel: v1alpha1.UpgradeChannelPatch}
	if err := p.client.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for range 2 { // its own reconciler looks at it
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}

// patched are the upgrades of a place, and the version that is noted.
func (p *place) patched(ctx context.Context) ([]string, error) {
	list := &v1alpha1.UpgradeList{}
	err := p.client.List(ctx, list, client.InNamespace(p.namespace))
	got := []string{}
	for i := range list.Items {
		got = append(got, list.Items[i].Name+" to "+list.Items[i].Spec.Version)
	}
	cluster, _, errCluster := p.both(ctx)
	if err == nil {
		err = errCluster
	}
	return append(got, cluster.Annotations[v1alpha1.AnnotationPatchedTo]), err
}

// TestPatchUnderFaults: whatever fails, one upgrade is created, and noted.
func TestPatchUnderFaults(t *testing.T) {
	operatortest.RunParallel(t, func(t *testing.T) operatortest.World {
		p := newPlace(t)
		cluster := p.onPatches(t)
		return operatortest.World{
			Request: requestFor(cluster),
			Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
				c := inj.Client(p.client)
				return &patcher{Config{Client: c, Reader: c}}
			},
			Object: func(context.Context) (operator.Object, error) { // the status of the cluster is another reconciler's
				return nil, apierrors.NewNotFound(schema.GroupResource{}, "")
			},
			Done: func(ctx context.Context) (bool, error) {
				got, err := p.patched(ctx)
				return len(got) == 2 && got[1] != "", err
			},
			Snapshot: func(ctx context.Context) (any, error) { return p.patched(ctx) },
		}
	})
}

// TestPatchIsCreatedOnce: not while another upgrade goes on, and not again when a user has deleted it.
func TestPatchIsCreatedOnce(t *testing.T) {
	p := newPlace(t)
	other := p.upgrade(t, "other", "v1.36.3", func(s *v1alpha1.UpgradeSpec) { s.Paused = true })
	cluster := p.onPatches(t)
	reconcileIt := func(want ...string) {
		t.Helper()
		if _, err := (&patcher{Config{Client: p.client, Reader: p.client}}).Reconcile(t.Context(), requestFor(cluster)); err != nil {
			t.Fatal(err)
		}
		got, err := p.patched(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
	reconcileIt("other to v1.36.3", "")
	if err := p.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	reconcileIt("demo-v1.35.5 to v1.35.5", "v1.35.5")
	if err := p.client.Delete(t.Context(), &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo-v1.35.5"}}); err != nil {
		t.Fatal(err)
	}
	reconcileIt("v1.35.5")
}

// TestPatchIsNotTakenBackAgain: a user has gone back from the patch.
func TestPatchIsNotTakenBackAgain(t *testing.T) {
	p := newPlace(t)
	back := p.upgrade(t, "back", "v1.35.4", func(s *v1alpha1.UpgradeSpec) { s.Rollback = true })
	back.Status.FromVersion, back.Status.CompletionTime = "v1.35.5", &metav1.Time{Time: p.now}
	if err := p.client.Status().Update(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	cluster := p.onPatches(t)
	if _, err := (&patcher{Config{Client: p.client, Reader: p.client}}).Reconcile(t.Context(), requestFor(cluster)); err != nil {
		t.Fatal(err)
	}
	got, err := p.patched(t.Context())
	if diff := cmp.Diff([]string{"back to v1.35.4", "v1.35.5"}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}
