package objects

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// reasonPending is of what no reconciler has looked at since it was said.
const reasonPending = "Pending"

// operationOf returns the work on an object that goes on, as its conditions have it, or nil when there is none. It is
// pure.
func operationOf(kind string, o operator.Object) *rest.Operation {
	status := o.Shared()
	is := func(condition string) bool { return apimeta.IsStatusConditionTrue(status.Conditions, condition) }
	stalled := is(v1alpha1.ConditionStalled)
	unseen := status.ObservedGeneration < o.GetGeneration()
	if o.GetDeletionTimestamp() == nil && !unseen && !stalled && !is(v1alpha1.ConditionReconciling) {
		return nil
	}
	op := &rest.Operation{
		Object:  rest.ObjectReference{Kind: kind, Name: o.GetName(), UID: string(o.GetUID())},
		Cluster: clusterOf(o), Action: actionOf(o), State: rest.StateRunning, Progress: progressOf(o),
	}
	if unseen && o.GetDeletionTimestamp() == nil {
		op.Reason, op.Message = reasonPending, "its controller has not looked at it yet"
		if status.ObservedGeneration == 0 {
			op.LastTransitionAt = timeOf(new(o.GetCreationTimestamp()))
		}
		return op
	}
	explainWork(op, o, stalled)
	return op
}

// explainWork says why the work goes on, and since when.
func explainWork(op *rest.Operation, o operator.Object, stalled bool) {
	status := o.Shared()
	cause := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling)
	if stalled {
		op.State, cause = rest.StateStalled, apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	}
	if cause != nil {
		op.LastTransitionAt = timeOf(&cause.LastTransitionTime)
	}
	if !stalled && (status.NextRetryTime != nil || cause != nil && cause.Reason == v1alpha1.ReasonRetrying) {
		op.State, op.NextRetryAt = rest.StateRetrying, timeOf(status.NextRetryTime)
	}
	// Ready repeats the first thing that is not as wanted; the others say only that work goes on.
	ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status != metav1.ConditionTrue {
		cause = ready
	}
	if cause != nil && (cause == ready || cause.Status == metav1.ConditionTrue) {
		op.Reason, op.Message = cause.Reason, cause.Message
	}
	if deleted := o.GetDeletionTimestamp(); deleted != nil {
		if op.Reason == "" {
			op.Reason = v1alpha1.ReasonDeleting
		}
		if !stalled {
			op.LastTransitionAt = timeOf(deleted)
		}
	}
}

// actionOf says what the work is for.
func actionOf(o operator.Object) string {
	if o.GetDeletionTimestamp() != nil {
		return rest.ActionDelete
	}
	// Of conditions that speak of an older spec only those count that say what there is.
	is := func(condition string) bool {
		return apimeta.IsStatusConditionTrue(o.Shared().Conditions, condition)
	}
	not := func(condition string) bool {
		return apimeta.IsStatusConditionFalse(o.Shared().Conditions, condition)
	}
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		return actionOnCluster(o, is(v1alpha1.ConditionKubeconfigReady))
	case *v1alpha1.NodePool:
		switch {
		case o.Generation == 1 && o.Status.ReadyReplicas == 0 && o.Spec.Replicas > 0:
			return rest.ActionCreate
		case not(v1alpha1.ConditionUpdated):
			return rest.ActionUpdate
		case not(v1alpha1.ConditionScaled) || o.Status.Replicas != o.Spec.Replicas:
			return rest.ActionScale
		}
	case *v1alpha1.Machine:
		if o.Status.JoinTime == nil {
			return rest.ActionCreate
		}
	}
	return actionBy(o)
}

// actionBy says what is done by an object that stands for an act; update for others.
func actionBy(o operator.Object) string {
	switch o := o.(type) {
	case *v1alpha1.Upgrade:
		if o.Spec.Rollback {
			return rest.ActionRollback
		}
		return rest.ActionUpgrade
	case *v1alpha1.Rehearsal:
		return rest.ActionRehearse
	case *v1alpha1.Backup:
		return rest.ActionBackup
	case *v1alpha1.Restore:
		return rest.ActionRestore
	case *v1alpha1.Rotation:
		return rest.ActionRotate
	}
	return rest.ActionUpdate
}

// actionOnCluster says what the work on a cluster is for that can be reached, or cannot yet.
func actionOnCluster(c *v1alpha1.Cluster, reached bool) string {
	switch {
	case c.Status.Version == "" || !reached:
		return rest.ActionCreate
	case c.Spec.Version != "" && c.Status.Version != c.Spec.Version:
		return rest.ActionUpgrade
	}
	return rest.ActionUpdate
}

// progressOf counts what is done, where the status has it.
func progressOf(o operator.Object) *rest.Progress {
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		p := conditionsDone(o, v1alpha1.ConditionAccepted, v1alpha1.ConditionKubeconfigReady)
		for _, s := range o.Status.Steps {
			p.Total++
			if s.Done {
				p.Done++
			}
		}
		return p
	case *v1alpha1.NodePool:
		ready := o.Status.ReadyReplicas
		if actionOf(o) == rest.ActionUpdate {
			ready = min(ready, o.Status.UpdatedReplicas)
		}
		return &rest.Progress{Done: int(min(ready, o.Spec.Replicas)), Total: int(o.Spec.Replicas)}
	case *v1alpha1.Machine:
		return conditionsDone(o, v1alpha1.ConditionBootstrapped, v1alpha1.ConditionMachineReady, v1alpha1.ConditionNodeReady)
	case *v1alpha1.Upgrade:
		p := &rest.Progress{Total: len(o.Status.Steps)}
		for _, s := range o.Status.Steps {
			if s.Ended() {
				p.Done++
			}
		}
		return p
	case *v1alpha1.Restore:
		return conditionsDone(o, v1alpha1.ConditionBackupWhole, v1alpha1.ConditionControlPlaneStopped, v1alpha1.ConditionStateSaved, v1alpha1.ConditionStateWritten, v1alpha1.ConditionServing)
	case *v1alpha1.Rotation:
		return conditionsDone(o, v1alpha1.ConditionNewTrusted, v1alpha1.ConditionNewSigns, v1alpha1.ConditionNewServes, v1alpha1.ConditionOldRemoved)
	}
	return nil
}

// conditionsDone counts the conditions that are true of the spec as it is now.
func conditionsDone(o operator.Object, names ...string) *rest.Progress {
	p := &rest.Progress{Total: len(names)}
	if o.Shared().ObservedGeneration < o.GetGeneration() {
		return p
	}
	for _, name := range names {
		if apimeta.IsStatusConditionTrue(o.Shared().Conditions, name) {
			p.Done++
		}
	}
	return p
}
