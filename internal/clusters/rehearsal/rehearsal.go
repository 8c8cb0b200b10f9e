package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/upgrade"
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

func (r *reconciler) operator() *operator.Reconciler[*v1alpha1.Rehearsal] {
	return operator.New(operator.Config[*v1alpha1.Rehearsal]{
		Client:    r.Client,
		Recorder:  r.Recorder,
		New:       func() *v1alpha1.Rehearsal { return &v1alpha1.Rehearsal{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/rehearsal",
		Phases: []operator.Phase[*v1alpha1.Rehearsal]{
			operator.Once(v1alpha1.ConditionPlanned, ended, r.plan, nil),
			operator.Once(v1alpha1.ConditionCopied, ended, r.copy, r.discard),
			operator.Once(v1alpha1.ConditionRehearsed, ended, r.rehearse, nil),
			operator.Once(v1alpha1.ConditionCopyRemoved, ended, r.end, nil),
		},
	})
}

func ended(o *v1alpha1.Rehearsal) bool { return o.Status.CompletionTime != nil }

func (r *reconciler) now() *metav1.Time {
	now := metav1.NewTime(r.Now().Truncate(time.Second))
	return &now
}

// plan says which versions are tried, and what an upgrade looks at before it begins.
func (r *reconciler) plan(ctx context.Context, o *v1alpha1.Rehearsal) operator.Outcome {
	if o.Status.FromVersion != "" {
		return operator.Done(v1alpha1.ReasonRehearsalDone, planned(o))
	}
	// As it would be now: under the same name there is none.
	u := &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	u.Spec.ClusterName, u.Spec.Version, u.Spec.Rollback = o.Spec.ClusterName, o.Spec.Version, o.Spec.Rollback
	would, err := r.Plan(ctx, u)
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return operator.Stalled(v1alpha1.ReasonRehearsalRefused, "%v", bad)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	for _, f := range would.Findings {
		if f.Check == v1alpha1.CheckClusterReadable && f.Severity == v1alpha1.SeverityBlocks {
			return operator.Retry(v1alpha1.ReasonRehearsalFailed, errors.New(f.Message))
		}
	}
	o.Status.ClusterUID, o.Status.FromVersion, o.Status.Versions = would.ClusterUID, would.FromVersion, nil
	for _, s := range would.Steps {
		if s.Kind == v1alpha1.StepControlPlane {
			o.Status.Versions = append(o.Status.Versions, v1alpha1.RehearsedVersion{Version: s.Version})
		}
	}
	o.Status.OmittedFindings = would.OmittedFindings
	found(o, would.Findings)
	return operator.Done(v1alpha1.ReasonRehearsalDone, planned(o))
}

func planned(o *v1alpha1.Rehearsal) string {
	names := make([]string, 0, len(o.Status.Versions))
	for _, v := range o.Status.Versions {
		names = append(names, v.Version)
	}
	if len(names) == 0 {
		return "the cluster has " + o.Spec.Version + " already"
	}
	return o.Status.FromVersion + " to " + strings.Join(names, ", then ")
}

// found adds findings to those of a status: what blocks first, and as many as it may have. What another version has found already is not
// said again.
func found(o *v1alpha1.Rehearsal, more []v1alpha1.UpgradeFinding) {
	more = slices.DeleteFunc(more, func(f v1alpha1.UpgradeFinding) bool { return slices.Contains(o.Status.Findings, f) })
	all := append(slices.Clone(o.Status.Findings), more...)
	slices.SortStableFunc(all, func(a, b v1alpha1.UpgradeFinding) int {
		return cmp.Or(strings.Compare(a.Severity, b.Severity), strings.Compare(a.Check, b.Check), strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	o.Status.BlockingFindings += int32(len(upgrade.Blocking(more, nil)))
	shown, omitted := upgrade.Bounded(all, nil)
	o.Status.Findings, o.Status.OmittedFindings = shown, o.Status.OmittedFindings+omitted
}

// errGone says that there is no cluster of that name whose control plane KQueen hosts, or another one than before.
var errGone = errors.New("the cluster is gone")

// source is the cluster that is rehearsed with, and its control plane.
func (r *reconciler) source(ctx context.Context, o *v1alpha1.Rehearsal) (*v1alpha1.Cluster, *v1alpha1.ControlPlane, error) {
	cluster, plane := &v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}
	key := client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.ClusterName}
	for _, of := range []client.Object{cluster, plane} {
		err := r.Reader.Get(ctx, key, of)
		if apierrors.IsNotFound(err) {
			return nil, nil, errGone
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read cluster %s: %w", key.Name, err)
		}
	}
	if string(cluster.UID) != o.Status.ClusterUID || !metav1.IsControlledBy(plane, cluster) || !cluster.DeletionTimestamp.IsZero() {
		return nil, nil, errGone
	}
	return cluster, plane, nil
}

// failed is the outcome of an error. Of a cluster that is gone nothing is kept.
func (r *reconciler) failed(ctx context.Context, o *v1alpha1.Rehearsal, err error) operator.Outcome {
	if !errors.Is(err, errGone) {
		return operator.Retry(v1alpha1.ReasonRehearsalFailed, err)
	}
	if removed := r.discard(ctx, o); !removed.IsDone() {
		return removed
	}
	return operator.Stalled(v1alpha1.ReasonRehearsalRefused, "spec.clusterName: cluster %s, with which the rehearsal began, is gone", o.Spec.ClusterName)
}

// end removes the copy, and says what came of it all.
func (r *reconciler) end(ctx context.Context, o *v1alpha1.Rehearsal) operator.Outcome {
	if removed := r.discard(ctx, o); !removed.IsDone() {
		return removed
	}
	said := verdict(o)
	if r.Recorder != nil {
		kind := corev1.EventTypeNormal
		if o.Status.BlockingFindings > 0 {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(o, nil, kind, "RehearsalEnded", "Rehearse", "%s", said)
	}
	o.Status.CompletionTime = r.now()
	return operator.Done(v1alpha1.ReasonRehearsalDone, said)
}

// verdict says in one line what was found. It is pure.
func verdict(o *v1alpha1.Rehearsal) string {
	if len(o.Status.Versions) == 0 {
		return "there is nothing to rehearse: " + planned(o)
	}
	all := len(o.Status.Findings) + int(o.Status.OmittedFindings)
	said := fmt.Sprintf("%s: %s in the copy, and nothing of it is left; ", planned(o), text.Count(int(o.Status.CopiedObjects), "object"))
	switch {
	case all == 0:
		return said + "nothing was found against the upgrade"
	case o.Status.BlockingFindings == 0:
		return said + text.Count(all, "finding") + ", none of which blocks the upgrade"
	}
	return said + fmt.Sprintf("%s, of which %d would block or break the upgrade", text.Count(all, "finding"), o.Status.BlockingFindings)
}
