package controlplane

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/storegate"
)

// noteSpace puts into the status how much is left of a data store, as its gate acts on it. That is no phase of its own: a store
// that is nearly full works, and must not look as if it did not. What a gate does not tell stays as it was said.
func (r *dataStoreReconciler) noteSpace(ctx context.Context, ds *v1alpha1.DataStore) {
	gate := r.gates.Ready()[ds.Name]
	if gate == nil {
		return
	}
	told, err := gate.Usage()
	if err != nil {
		log.FromContext(ctx).Error(err, "the gate does not tell how full the data store is; it is asked again")
		return
	}
	saySpace(ds, told.Left)
}

// saySpace sets the condition. Where there always was enough there is none.
func saySpace(ds *v1alpha1.DataStore, left storegate.Level) {
	c := metav1.Condition{
		Type: v1alpha1.ConditionNearlyFull, Status: metav1.ConditionTrue, ObservedGeneration: ds.Generation,
		Reason: v1alpha1.ReasonSpaceScarce, Message: "nine tenths of the etcd's file are in use, so that nothing grows in any control plane over it but what deletions need; " + moreSpace,
	}
	switch left {
	case storegate.Last:
		c.Reason = v1alpha1.ReasonSpaceLast
		c.Message = "95 of 100 parts of the etcd's file are in use, so that nothing grows in any control plane over it, and deletions that begin with a mark on the object fail, too; " + moreSpace
	case storegate.Enough:
		if apimeta.FindStatusCondition(ds.Status.Conditions, c.Type) == nil {
			return
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonSpaceEnough, "there is enough space for what control planes write"
	}
	apimeta.SetStatusCondition(&ds.Status.Conditions, c)
}

// moreSpace is what helps.
const moreSpace = "delete objects in the largest control planes (kubectl get controlplanes -A --sort-by=.status.storeUsed), or clusters, and limit organizations " +
	"by a quota of store; space is there again some minutes later"
