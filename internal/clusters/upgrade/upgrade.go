package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// waitCheck is the longest time between two looks at what is waited for.
	waitCheck = 15 * time.Second
	// atOnce has the next run come after the status was written.
	atOnce = time.Millisecond
)

func (r *reconciler) operator() *operator.Reconciler[*v1alpha1.Upgrade] {
	return operator.New(operator.Config[*v1alpha1.Upgrade]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.Upgrade { return &v1alpha1.Upgrade{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/upgrade",
		Phases: []operator.Phase[*v1alpha1.Upgrade]{
			operator.Once(v1alpha1.ConditionPlanned, ended, r.plan, nil),
			operator.Once(v1alpha1.ConditionPreflightPassed, ended, r.preflight, nil),
			operator.Once(v1alpha1.ConditionBackedUp, ended, r.backUp, nil),
			operator.Once(v1alpha1.ConditionUpgraded, ended, r.advance, r.abort),
		},
	})
}

func ended(u *v1alpha1.Upgrade) bool { return u.Status.CompletionTime != nil }

func (r *reconciler) now() *metav1.Time {
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	return &now
}

// subject is a cluster with its control plane.
type subject struct {
	cluster *v1alpha1.Cluster
	plane   *v1alpha1.ControlPlane
}

// errGone says that there is no cluster of that name whose control plane KQueen hosts, or another one than before.
var errGone = errors.New("there is no such cluster")

// find reads a cluster and its control plane.
func find(ctx context.Context, from client.Reader, u *v1alpha1.Upgrade) (subject, error) {
	s := subject{&v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}}
	key := client.ObjectKey{Namespace: u.Namespace, Name: u.Spec.ClusterName}
	for _, o := range []client.Object{s.cluster, s.plane} {
		err := from.Get(ctx, key, o)
		if apierrors.IsNotFound(err) {
			return s, errGone
		}
		if err != nil {
			return s, fmt.Errorf("read cluster %s: %w", key.Name, err)
		}
	}
	changed := u.Status.ClusterUID != "" && u.Status.ClusterUID != string(s.cluster.UID)
	if changed || !metav1.IsControlledBy(s.plane, s.cluster) || !s.cluster.DeletionTimestamp.IsZero() {
		return s, errGone
	}
	return s, nil
}

// subject finds the cluster of an upgrade, or says why it cannot go on.
func (r *reconciler) subject(ctx context.Context, u *v1alpha1.Upgrade) (subject, *operator.Outcome) {
	// Without a cache, which may not have seen what the run before this one has changed.
	s, err := find(ctx, r.Reader, u)
	refuse := func(o operator.Outcome) (subject, *operator.Outcome) { return s, &o }
	switch {
	case errors.Is(err, errGone):
		return refuse(operator.Stalled(v1alpha1.ReasonUpgradeRefused, "spec.clusterName: there is no cluster %s whose control plane KQueen hosts; upgrade others where they were created", u.Spec.ClusterName))
	case err != nil:
		return refuse(operator.Retry(v1alpha1.ReasonUpgradeFailed, err))
	case s.cluster.Status.Version == "" || s.plane.Status.Version == "":
		return refuse(operator.Wait(v1alpha1.ReasonUpgradeWaiting, "waiting for cluster "+s.cluster.Name+", which does not say yet which version it runs", waitCheck))
	case s.plane.Spec.StoppedFor != "" && !restoring(u):
		return refuse(operator.Wait(v1alpha1.ReasonUpgradeWaiting, "a restore of cluster "+s.cluster.Name+" goes first; see: kqueen restore list", waitCheck))
	}
	return s, nil
}

// restoring says whether the restore of a rollback has begun and not ended: the control plane stands still for it. It is pure.
func restoring(u *v1alpha1.Upgrade) bool {
	s := stepOf(u, v1alpha1.StepRestore)
	return s != nil && s.State != v1alpha1.StepPending && !s.Ended()
}

// harmless are the kinds of steps that change nothing of the cluster.
var harmless = []string{v1alpha1.StepPreflight, v1alpha1.StepBackup, v1alpha1.StepComparison}

// changes says whether the upgrade has begun to change the cluster: from then on its plan stays. It is pure.
func changes(steps []v1alpha1.UpgradeStep) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.UpgradeStep) bool {
		return !slices.Contains(harmless, s.Kind) && s.State != v1alpha1.StepPending
	})
}

// over says whether no step is left. It is pure.
func over(steps []v1alpha1.UpgradeStep) bool {
	return !slices.ContainsFunc(steps, func(s v1alpha1.UpgradeStep) bool { return !s.Ended() })
}

// plan says which steps lead to the version, and takes the cluster for this upgrade.
func (r *reconciler) plan(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	if u.Status.FromVersion != "" && over(u.Status.Steps) {
		return operator.Done(v1alpha1.ReasonUpgradeStepDone, planned(u))
	}
	s, refused := r.subject(ctx, u)
	if refused != nil {
		return *refused
	}
	if !changes(u.Status.Steps) {
		if refused := r.replan(ctx, u, s); refused != nil {
			return *refused
		}
	}
	if refused := r.claim(ctx, u, s.cluster); refused != nil {
		return *refused
	}
	return operator.Done(v1alpha1.ReasonUpgradeStepDone, planned(u))
}

func planned(u *v1alpha1.Upgrade) string {
	if len(u.Status.Steps) == 0 {
		return "the cluster has " + u.Spec.Version + " already"
	}
	return fmt.Sprintf("%s to %s in %s", u.Status.FromVersion, u.Spec.Version, text.Count(len(u.Status.Steps), "step"))
}

// replan makes the plan from what is there now.
func (r *reconciler) replan(ctx context.Context, u *v1alpha1.Upgrade, s subject) *operator.Outcome {
	refuse := func(o operator.Outcome) *operator.Outcome { return &o }
	wanted, err := wantedOf(ctx, r.Client, u, s)
	if err == nil {
		u.Status.Steps, err = r.steps(ctx, u, wanted)
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return refuse(operator.Stalled(v1alpha1.ReasonUpgradeRefused, "%v", bad))
	}
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonUpgradeFailed, err))
	}
	u.Status.FromVersion, u.Status.ClusterUID = s.cluster.Status.Version, string(s.cluster.UID)
	return nil
}

// steps are those of the plan, with what is known of those that have begun, and of those of the last upgrade.
func (r *reconciler) steps(ctx context.Context, u *v1alpha1.Upgrade, w Wanted) ([]v1alpha1.UpgradeStep, error) {
	steps, err := Plan(w)
	if err != nil {
		return u.Status.Steps, err
	}
	all := &v1alpha1.UpgradeList{}
	if err := r.Client.List(ctx, all, client.InNamespace(u.Namespace)); err != nil {
		return u.Status.Steps, fmt.Errorf("list upgrades: %w", err)
	}
	for i := range steps {
		switch {
		case steps[i].Kind == v1alpha1.StepBackup && steps[i].State != v1alpha1.StepSkipped:
			steps[i].Object = backupName(u)
		case steps[i].Kind == v1alpha1.StepComparison, steps[i].Kind == v1alpha1.StepRestore:
			steps[i].Object = restoreName(u, steps[i].Kind)
		}
	}
	steps = adopt(steps, u.Status.Steps)
	if last := lastOf(all.Items, u); last != nil {
		steps = timed(steps, last.Status.Steps)
	}
	return steps, nil
}

// claim takes the cluster for this upgrade: another one waits.
func (r *reconciler) claim(ctx context.Context, u *v1alpha1.Upgrade, cluster *v1alpha1.Cluster) *operator.Outcome {
	refuse := func(o operator.Outcome) *operator.Outcome { return &o }
	uid, holder := string(u.UID), cluster.Annotations[v1alpha1.AnnotationUpgrade]
	if holder == uid {
		return nil
	}
	if holder != "" {
		all := &v1alpha1.UpgradeList{}
		if err := r.Reader.List(ctx, all, client.InNamespace(u.Namespace)); err != nil {
			return refuse(operator.Retry(v1alpha1.ReasonUpgradeFailed, fmt.Errorf("list upgrades: %w", err)))
		}
		for i := range all.Items {
			if o := &all.Items[i]; string(o.UID) == holder && o.Status.CompletionTime == nil {
				return refuse(operator.Wait(v1alpha1.ReasonUpgradeWaiting, "upgrade "+o.Name+" of the cluster goes first", waitCheck))
			}
		}
	}
	if err := annotate(ctx, r.Client, cluster, v1alpha1.AnnotationUpgrade, uid); err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonUpgradeFailed, fmt.Errorf("take cluster %s for the upgrade: %w", cluster.Name, err)))
	}
	return nil
}

// leave gives the cluster back.
func (r *reconciler) leave(ctx context.Context, u *v1alpha1.Upgrade, cluster *v1alpha1.Cluster) error {
	if cluster.Annotations[v1alpha1.AnnotationUpgrade] != string(u.UID) {
		return nil
	}
	if err := client.IgnoreNotFound(annotate(ctx, r.Client, cluster, v1alpha1.AnnotationUpgrade, "")); err != nil {
		return fmt.Errorf("give cluster %s back: %w", cluster.Name, err)
	}
	return nil
}

// annotate sets an annotation, or takes it away where the value is empty. The lock refuses it when the object has changed meanwhile.
func annotate(ctx context.Context, c client.Client, o client.Object, key, value string) error {
	if o.GetAnnotations()[key] == value {
		return nil
	}
	base := o.DeepCopyObject().(client.Object)
	all := map[string]string{}
	maps.Copy(all, o.GetAnnotations())
	delete(all, key)
	if value != "" {
		all[key] = value
	}
	o.SetAnnotations(all)
	return c.Patch(ctx, o, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}
