package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/hibernation"
	"kqueen.io/kqueen/internal/clusters/provision"
)

// atOnce has the next run come after the status was written.
const atOnce = time.Millisecond

// lookDeadline bounds one look into a cluster.
const lookDeadline = 10 * time.Second

// hibernate decides whether the cluster sleeps from the next run on, and notes that in the status. It returns when to decide again at the
// latest; 0 for when something changes.
func (r *reconciler) hibernate(ctx context.Context, c *v1alpha1.Cluster, t target) (time.Duration, error) {
	driver, ok := t.Driver.(provision.Hibernator)
	if !ok || c.Spec.Hibernation == nil && c.Status.Hibernation == nil {
		return 0, nil
	}
	facts := hibernation.Facts{Now: r.Now()}
	var err error
	if facts.Waiting, err = driver.Waits(ctx, t.want.Target); err != nil {
		return 0, fmt.Errorf("see whether a client waits for the cluster: %w", err)
	}
	if facts.Waiting && !c.Status.Sleeps() {
		if err := driver.Woken(ctx, t.want.Target); err != nil {
			return 0, err
		}
	}
	if facts.Busy, err = r.busy(ctx, c); err != nil {
		return 0, err
	}
	slept := c.Status.Sleeps()
	decision := hibernation.Decide(c.Spec.Hibernation, c.Status.Hibernation, facts)
	if decision.Look {
		facts.Seen, facts.Unseen = r.seen(ctx, c)
		decision = hibernation.Decide(c.Spec.Hibernation, c.Status.Hibernation, facts)
	}
	c.Status.Hibernation = decision.Status
	if c.Status.Sleeps() != slept {
		return atOnce, nil
	}
	return decision.After, nil
}

// seen is what is found in the cluster, or why that cannot be read.
func (r *reconciler) seen(ctx context.Context, c *v1alpha1.Cluster) (*hibernation.Seen, error) {
	if r.Look == nil {
		return nil, errors.New("this installation does not look into clusters")
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	seen, err := r.Look(ctx, c)
	if err != nil {
		return nil, err
	}
	return &seen, nil
}

// busy names what goes on for which a cluster has to run; empty for nothing. What of it begins while the cluster sleeps wakes it.
func (r *reconciler) busy(ctx context.Context, c *v1alpha1.Cluster) (string, error) {
	var work work
	machines, err := r.machines(ctx, c)
	if err != nil {
		return "", err
	}
	for _, list := range []client.ObjectList{&work.upgrades, &work.rotations, &work.restores, &work.pools} {
		if err := r.Client.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
			return "", fmt.Errorf("list what goes on in the cluster: %w", err)
		}
	}
	all := append(work.going(c.Name), work.changing(c.Name, machines)...)
	slices.Sort(all)
	if len(all) == 0 {
		return "", nil
	}
	return all[0], nil
}

// work is what may go on in the clusters of a namespace.
type work struct {
	upgrades  v1alpha1.UpgradeList
	rotations v1alpha1.RotationList
	restores  v1alpha1.RestoreList
	pools     v1alpha1.NodePoolList
}

// going names what has not ended in a cluster. It is pure.
func (w *work) going(cluster string) (all []string) {
	add := func(of string, ended *metav1.Time, what, name string) {
		if of == cluster && ended == nil {
			all = append(all, what+" "+name)
		}
	}
	for i := range w.upgrades.Items {
		add(w.upgrades.Items[i].Spec.ClusterName, w.upgrades.Items[i].Status.CompletionTime, "upgrade", w.upgrades.Items[i].Name)
	}
	for i := range w.rotations.Items {
		add(w.rotations.Items[i].Spec.ClusterName, w.rotations.Items[i].Status.CompletionTime, "rotation", w.rotations.Items[i].Name)
	}
	for i := range w.restores.Items {
		add(w.restores.Items[i].Status.ClusterName, w.restores.Items[i].Status.CompletionTime, "restore", w.restores.Items[i].Name)
	}
	return all
}

// changing names what comes or goes of a cluster's machines. It is pure.
func (w *work) changing(cluster string, machines []v1alpha1.Machine) (all []string) {
	for i := range machines {
		m := &machines[i]
		leaves, joins := !m.DeletionTimestamp.IsZero(), m.Status.JoinTime == nil && m.Spec.Provider != v1alpha1.ProviderManual
		if leaves || joins {
			all = append(all, "the coming or going of machine "+m.Name)
		}
	}
	for i := range w.pools.Items {
		if p := &w.pools.Items[i]; p.Spec.ClusterName == cluster && (!p.DeletionTimestamp.IsZero() || scaled(p, machines)) {
			all = append(all, "scaling of nodepool "+p.Name)
		}
	}
	return all
}

// scaled says whether a pool is to have more machines than there are, or fewer. It is pure.
func scaled(p *v1alpha1.NodePool, machines []v1alpha1.Machine) bool {
	var have int32
	for i := range machines {
		if metav1.IsControlledBy(&machines[i], p) {
			have++
		}
	}
	return have != p.Spec.Replicas
}

// machines are those of a cluster.
func (r *reconciler) machines(ctx context.Context, c *v1alpha1.Cluster) ([]v1alpha1.Machine, error) {
	list := &v1alpha1.MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(m v1alpha1.Machine) bool { return m.Spec.ClusterName != c.Name }), nil
}

// mayStop says whether the control plane of a cluster that sleeps may end: its machines go first, because their programs would wake it.
func (r *reconciler) mayStop(ctx context.Context, c *v1alpha1.Cluster) (bool, error) {
	if !c.Status.Sleeps() {
		return false, nil
	}
	machines, err := r.machines(ctx, c)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(machines, func(m v1alpha1.Machine) bool { return !m.Sleeps() }), nil
}
