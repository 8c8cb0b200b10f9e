package upgrade

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
)

// patcher creates Upgrades for clusters that are to have the newest patch of their minor. What follows is theirs: they look for what stands
// against them, and wait for maintenance windows.
type patcher struct{ Config }

// Reconcile implements reconcile.Reconciler.
func (p *patcher) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &v1alpha1.Cluster{}
	if err := p.Client.Get(ctx, req.NamespacedName, c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !onPatchChannel(c) {
		return reconcile.Result{}, nil
	}
	known, err := releases(ctx, p.Client, c.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	to := patchFor(c, known)
	if to == "" {
		return reconcile.Result{}, nil
	}
	all := &v1alpha1.UpgradeList{}
	if err := p.Reader.List(ctx, all, client.InNamespace(c.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("list upgrades: %w", err)
	}
	u := &v1alpha1.Upgrade{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-" + to},
		Spec:       v1alpha1.UpgradeSpec{ClusterName: c.Name, Version: to},
	}
	goesOn := func(o v1alpha1.Upgrade) bool {
		return o.Spec.ClusterName == c.Name && o.Status.CompletionTime == nil && o.Name != u.Name
	}
	if slices.ContainsFunc(all.Items, goesOn) {
		return reconcile.Result{}, nil // its end is heard of
	}
	wentBack := func(o v1alpha1.Upgrade) bool {
		return o.Spec.ClusterName == c.Name && o.Spec.Rollback && o.Status.FromVersion == to
	}
	if !slices.ContainsFunc(all.Items, wentBack) {
		if err := p.create(ctx, c, u); err != nil {
			return reconcile.Result{}, err
		}
	}
	// After it: a version that a user has ended the upgrade to, or gone back from, is not tried again.
	if err := annotate(ctx, p.Client, c, v1alpha1.AnnotationPatchedTo, to); err != nil {
		return reconcile.Result{}, fmt.Errorf("note the upgrade of cluster %s: %w", c.Name, err)
	}
	return reconcile.Result{}, nil
}

func (p *patcher) create(ctx context.Context, c *v1alpha1.Cluster, u *v1alpha1.Upgrade) error {
	err := p.Client.Create(ctx, u)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("upgrade cluster %s to %s: %w", c.Name, u.Spec.Version, err)
	}
	if p.Recorder != nil {
		p.Recorder.Eventf(c, u, corev1.EventTypeNormal, "PatchFound", "Upgrade", "upgrade %s brings the cluster to %s, because of spec.maintenance.upgradeChannel", u.Name, u.Spec.Version)
	}
	return nil
}

func onPatchChannel(c *v1alpha1.Cluster) bool {
	return c.Spec.Maintenance != nil && c.Spec.Maintenance.UpgradeChannel == v1alpha1.UpgradeChannelPatch && c.DeletionTimestamp.IsZero()
}

// patchFor is the newest patch of the minor that a cluster runs and wants, if it is newer and was not tried; else empty. It is pure.
func patchFor(c *v1alpha1.Cluster, known []Release) string {
	runs, err := release.ParseVersion(c.Status.Version)
	if err != nil || c.Spec.Version != c.Status.Version {
		return ""
	}
	best := runs
	for _, r := range known {
		if r.Problem == "" && r.Version.MinorString() == runs.MinorString() && r.Version.Compare(best) > 0 {
			best = r.Version
		}
	}
	if best == runs || c.Annotations[v1alpha1.AnnotationPatchedTo] == best.String() {
		return ""
	}
	return best.String()
}

// setup adds it to mgr: it looks at a cluster when that changes, when one of its upgrades does, and at all when there is another release.
func (p *patcher) setup(mgr ctrl.Manager) error {
	of := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		u, ok := o.(*v1alpha1.Upgrade)
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: u.Namespace, Name: u.Spec.ClusterName}}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("patches").For(&v1alpha1.Cluster{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Upgrade{}, of).Watches(&v1alpha1.Release{}, handler.EnqueueRequestsFromMapFunc(p.onChannel)).Complete(p)
}

// onChannel are the clusters that a new release may be for.
func (p *patcher) onChannel(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.ClusterList{}
	if err := p.Client.List(ctx, list); err != nil {
		return nil // the next change is heard of
	}
	list.Items = slices.DeleteFunc(list.Items, func(c v1alpha1.Cluster) bool { return !onPatchChannel(&c) })
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
