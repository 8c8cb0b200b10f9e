package controlplane

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Sizes tells what control planes hold in data stores. *Meter offers it.
type Sizes interface {
	// StoreBytes is what a control plane held when it was last measured, if it was.
	StoreBytes(uid types.UID) (int64, bool)
	// Unmeasured says that measuring a control plane has failed for an hour.
	Unmeasured(uid types.UID) bool
}

// noteStore puts into the status what the control plane holds and whether its organization holds too much. That is no
// phase of its own: a control plane above its quota works, and must not look as if it did not.
func (r *reconciler) noteStore(ctx context.Context, cp *v1alpha1.ControlPlane) error {
	if r.Sizes == nil || cp.IsCopy() {
		return nil
	}
	if bytes, ok := r.Sizes.StoreBytes(cp.UID); ok {
		cp.Status.StoreUsed = resource.NewQuantity(noted(cp.Status.StoreBytes(), bytes), resource.BinarySI)
	}
	limit, err := storeQuota(ctx, r.Client, cp.Namespace)
	if err != nil {
		return err
	}
	others := &v1alpha1.ControlPlaneList{}
	if limit != nil {
		if err := r.Client.List(ctx, others, client.InNamespace(cp.Namespace)); err != nil {
			return fmt.Errorf("list the organization's control planes: %w", err)
		}
	}
	for i := range others.Items {
		if others.Items[i].UID == cp.UID {
			others.Items[i].Status.StoreUsed = cp.Status.StoreUsed
		}
	}
	sayStore(cp, limit, storeState{storeExceeded(limit, held(others.Items, cp.Namespace)), limit != nil && r.Sizes.Unmeasured(cp.UID)})
	return nil
}

// storeState is what is known of what an organization holds. One does not hide the other: what was measured before may be too much
// already.
type storeState struct {
	// exceeded says that the organization holds too much, unmeasured that it is not known any more what the control plane holds.
	exceeded, unmeasured bool
}

// quota is the status of the condition about the quota.
func (s storeState) quota() metav1.ConditionStatus {
	switch {
	case s.exceeded:
		return metav1.ConditionTrue
	case s.unmeasured:
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

// storeSaid is what the conditions say; without them nothing ever was too much, and all was measured. It is pure.
func storeSaid(cp *v1alpha1.ControlPlane) storeState {
	return storeState{
		exceeded:   apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStoreQuotaExceeded),
		unmeasured: apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStoreUnmeasured),
	}
}

// sayStore sets the conditions. Their messages have no amount that changes all the time: each would be a write for every
// control plane of the organization. Where nothing was ever wrong there are none.
func sayStore(cp *v1alpha1.ControlPlane, limit *resource.Quantity, state storeState) {
	unmeasured := fmt.Sprintf("for an hour it could not be measured what this control plane holds of the organization's quota of store, %s, so that the "+
		"organization gets no further cluster; it is tried again, and the log of KQueen says why it fails", limit)
	exceeded := metav1.Condition{
		Type: v1alpha1.ConditionStoreQuotaExceeded, Status: state.quota(), ObservedGeneration: cp.Generation,
		Reason: v1alpha1.ReasonStoreWithinQuota, Message: "the organization's control planes hold less in data stores than it may",
	}
	switch exceeded.Status {
	case metav1.ConditionTrue:
		exceeded.Reason = v1alpha1.ReasonStoreQuotaExceeded
		exceeded.Message = fmt.Sprintf("the organization's control planes have used up its quota of store, %s, so that it gets no further cluster; "+
			"delete objects in its clusters, or clusters", limit)
	case metav1.ConditionUnknown:
		exceeded.Reason, exceeded.Message = v1alpha1.ReasonStoreUnmeasured, unmeasured
	}
	measured := metav1.Condition{
		Type: v1alpha1.ConditionStoreUnmeasured, Status: metav1.ConditionFalse, ObservedGeneration: cp.Generation,
		Reason: v1alpha1.ReasonStoreMeasured, Message: "it is known what this control plane holds in its data store",
	}
	if state.unmeasured {
		measured.Status, measured.Reason, measured.Message = metav1.ConditionTrue, v1alpha1.ReasonStoreUnmeasured, unmeasured
	}
	for _, c := range []metav1.Condition{exceeded, measured} {
		if c.Status != metav1.ConditionFalse || apimeta.FindStatusCondition(cp.Status.Conditions, c.Type) != nil {
			apimeta.SetStatusCondition(&cp.Status.Conditions, c)
		}
	}
}

// storeQuota is how much the organization of a namespace may hold in data stores; nil for as much as it wants.
func storeQuota(ctx context.Context, c client.Reader, namespace string) (*resource.Quantity, error) {
	o, err := organizationOf(ctx, c, namespace)
	if o == nil || err != nil || o.Spec.Quota == nil {
		return nil, err
	}
	return o.Spec.Quota.Store, nil
}

// organizationOf returns the organization of a namespace; nil where there is none.
func organizationOf(ctx context.Context, c client.Reader, namespace string) (*v1alpha1.Organization, error) {
	name, ok := v1alpha1.OrganizationOf(namespace)
	if !ok {
		return nil, nil
	}
	o := &v1alpha1.Organization{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read organization %s: %w", name, err)
	}
	return o, nil
}

// storeExceeded says whether nothing is left of a quota, which may be nil. It is pure.
func storeExceeded(limit *resource.Quantity, held int64) bool {
	return limit != nil && held >= limit.Value()
}

// held is what the control planes of a namespace hold together. It is pure.
func held(all []v1alpha1.ControlPlane, namespace string) int64 {
	var sum int64
	for i := range all {
		if all[i].Namespace == namespace && !all[i].IsCopy() {
			sum += all[i].Status.StoreBytes()
		}
	}
	return sum
}

// noted is what the status says after a measurement: small changes, which are there all the time, are no reason to
// write. It is pure.
func noted(before, measured int64) int64 {
	if difference := max(before, measured) - min(before, measured); before > 0 && difference < max(before/20, 64<<10) {
		return before
	}
	return measured
}
