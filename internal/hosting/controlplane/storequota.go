package controlplane

import (
	"context"
	"fmt"
	"strings"

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
	if r.Sizes == nil {
		return nil
	}
	if bytes, ok := r.Sizes.StoreBytes(cp.UID); ok {
		cp.Status.StoreBytes = noted(cp.Status.StoreBytes, bytes)
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
			others.Items[i].Status.StoreBytes = cp.Status.StoreBytes
		}
	}
	sayStore(cp, limit, storeState(storeExceeded(limit, held(others.Items, cp.Namespace)), limit != nil && r.Sizes.Unmeasured(cp.UID)))
	return nil
}

// storeState is the status of the condition. It is pure.
func storeState(exceeded, unmeasured bool) metav1.ConditionStatus {
	switch {
	case exceeded:
		return metav1.ConditionTrue
	case unmeasured:
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

// storeSaid is what the condition says; without one nothing ever was too much. It is pure.
func storeSaid(cp *v1alpha1.ControlPlane) metav1.ConditionStatus {
	if c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionStoreQuotaExceeded); c != nil {
		return c.Status
	}
	return metav1.ConditionFalse
}

// sayStore sets the condition. Its message has no amount that changes all the time: each would be a write for every
// control plane of the organization. Where there never was too much there is no condition.
func sayStore(cp *v1alpha1.ControlPlane, limit *resource.Quantity, state metav1.ConditionStatus) {
	have := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionStoreQuotaExceeded)
	if state == metav1.ConditionFalse && have == nil {
		return
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionStoreQuotaExceeded, Status: metav1.ConditionFalse, ObservedGeneration: cp.Generation,
		Reason: v1alpha1.ReasonStoreWithinQuota, Message: "the organization's control planes hold less in data stores than it may",
	}
	switch state {
	case metav1.ConditionTrue:
		c.Status, c.Reason = state, v1alpha1.ReasonStoreQuotaExceeded
		c.Message = fmt.Sprintf("the organization's control planes have used up its quota of store, %s, so that it gets no further cluster; "+
			"delete objects in its clusters, or clusters", limit)
	case metav1.ConditionUnknown:
		c.Status, c.Reason = state, v1alpha1.ReasonStoreUnmeasured
		c.Message = fmt.Sprintf("for an hour it could not be measured what this control plane holds of the organization's quota of store, %s, so that the "+
			"organization gets no further cluster; it is tried again, and the log of KQueen says why it fails", limit)
	}
	apimeta.SetStatusCondition(&cp.Status.Conditions, c)
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
	name, ok := strings.CutPrefix(namespace, v1alpha1.NamespacePrefix)
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
		if all[i].Namespace == namespace {
			sum += all[i].Status.StoreBytes
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
