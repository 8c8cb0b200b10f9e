package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// wantedOf reads what an upgrade is planned from.
func wantedOf(ctx context.Context, from client.Reader, u *v1alpha1.Upgrade, s subject) (Wanted, error) {
	w := Wanted{Rollback: u.Spec.Rollback, Restore: u.Spec.RestoreBackupName, Backup: u.Spec.Backup == nil || *u.Spec.Backup}
	var err error
	if w.From, err = release.ParseVersion(s.cluster.Status.Version); err != nil {
		return w, fmt.Errorf("read the version that the cluster runs: %w", err)
	}
	if w.To, err = release.ParseVersion(u.Spec.Version); err != nil {
		return w, invalid.New(field, "%v", err)
	}
	// The cluster may be on its way to a newer one already.
	if asked, err := release.ParseVersion(s.cluster.Spec.Version); err == nil && w.To.Compare(asked) < 0 {
		if !w.Rollback {
			return w, refusal(release.CheckUpgrade(asked, w.To))
		}
		w.From = asked
	}
	if err := restorable(ctx, from, u, s, w.To); err != nil {
		return w, err
	}
	if w.Releases, err = releases(ctx, from, u.Namespace); err != nil {
		return w, err
	}
	w.Pools, err = poolsOf(ctx, from, u, w.From)
	return w, err
}

// releases are those of the installation, with what keeps the organization from using each.
func releases(ctx context.Context, from client.Reader, namespace string) ([]Release, error) {
	list := &v1alpha1.ReleaseList{}
	if err := from.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	allowed, err := allowedReleases(ctx, from, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]Release, 0, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		v, err := release.ParseVersion(o.Name)
		if err != nil {
			continue
		}
		r := Release{Version: v}
		ready := apimeta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case !o.DeletionTimestamp.IsZero():
			r.Problem = "it is being deleted"
		case ready != nil && ready.Status == metav1.ConditionFalse:
			r.Problem = ready.Message
		case !allows(allowed, v):
			r.Problem = "spec.releases of the organization does not have it"
		}
		out = append(out, r)
	}
	// A cache lists in no order, and messages must be the same from try to try.
	slices.SortFunc(out, func(a, b Release) int { return a.Version.Compare(b.Version) })
	return out, nil
}

// allowedReleases is spec.releases of the organization; empty for all.
func allowedReleases(ctx context.Context, from client.Reader, namespace string) ([]string, error) {
	name, ok := v1alpha1.OrganizationOf(namespace)
	if !ok {
		return nil, nil
	}
	o := &v1alpha1.Organization{}
	if err := from.Get(ctx, client.ObjectKey{Name: name}, o); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read organization %s: %w", name, err)
	}
	return o.Spec.Releases, nil
}

// allows says whether a list of releases, and of minors for all of their patches, has a version; an empty one has all. It is pure.
func allows(list []string, v release.Version) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(name string) bool {
		return name == v.String() || strings.Count(name, ".") == 1 && name == v.MinorString()
	})
}

// poolsOf are the node pools of a cluster that are not being deleted.
func poolsOf(ctx context.Context, from client.Reader, u *v1alpha1.Upgrade, at release.Version) ([]Pool, error) {
	pools, err := nodePools(ctx, from, u)
	if err != nil || len(pools) == 0 {
		return nil, err
	}
	machines := &v1alpha1.MachineList{}
	if err := from.List(ctx, machines, client.InNamespace(u.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var out []Pool
	for i := range pools {
		p := &pools[i]
		if p.DeletionTimestamp.IsZero() {
			out = append(out, poolOf(p, machines.Items, at))
		}
	}
	return out, nil
}

// nodePools are the NodePools of the cluster of an upgrade, by name.
func nodePools(ctx context.Context, from client.Reader, u *v1alpha1.Upgrade) ([]v1alpha1.NodePool, error) {
	list := &v1alpha1.NodePoolList{}
	if err := from.List(ctx, list, client.InNamespace(u.Namespace)); err != nil {
		return nil, fmt.Errorf("list node pools: %w", err)
	}
	all := slices.DeleteFunc(list.Items, func(p v1alpha1.NodePool) bool { return p.Spec.ClusterName != u.Spec.ClusterName })
	slices.SortFunc(all, func(a, b v1alpha1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// poolOf is what a plan knows of a pool in a cluster of a version. It is pure.
func poolOf(p *v1alpha1.NodePool, machines []v1alpha1.Machine, at release.Version) Pool {
	out := Pool{Name: p.Name, Own: p.Spec.Version != "", Manual: p.Spec.Template.Provider == v1alpha1.ProviderManual, Oldest: at, Newest: at}
	if v, err := release.ParseVersion(p.Spec.Version); err == nil {
		out.Oldest, out.Newest = v, v
	}
	for i := range machines {
		m := &machines[i]
		v, err := release.ParseVersion(m.Spec.Version)
		if err != nil || !metav1.IsControlledBy(m, p) {
			continue
		}
		if v.Compare(out.Oldest) < 0 {
			out.Oldest = v
		}
		if v.Compare(out.Newest) > 0 {
			out.Newest = v
		}
	}
	return out
}
