package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	// addonsSoon is the time between two looks at addons that have changed less than addonsFresh ago, and observeInterval that of
	// others: those of a cluster without nodes are never ready.
	addonsSoon  = 3 * time.Second
	addonsFresh = 3 * time.Minute
	// addonsTimeout is how long putting the addons into a cluster and looking at them may take.
	addonsTimeout = 30 * time.Second
)

// addons brings the cluster's addons to what is wanted once there are nodes to run them.
func (r *reconciler) addons(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	pools := &v1alpha1.NodePoolList{}
	if r.Addons == nil {
		return operator.Done(v1alpha1.ReasonNoNodePools, "")
	}
	if err := r.Client.List(ctx, pools, client.InNamespace(c.Namespace)); err != nil {
		return operator.Aside(v1alpha1.ReasonAddonsUnreachable, fmt.Sprintf("list the node pools: %v", err), addonsSoon)
	}
	if !hasPool(c, pools.Items) {
		c.Status.Addons, c.Status.Ingress = nil, nil
		return operator.Done(v1alpha1.ReasonNoNodePools, "addons come with the first node pool")
	}
	ctx, cancel := context.WithTimeout(ctx, addonsTimeout)
	defer cancel()
	unissued := r.issueIngress(ctx, c)
	all, err := r.Addons(ctx, c)
	if err == nil {
		c.Status.Addons = all
	}
	// Also of a cluster that does not answer: its network may be another one's by now.
	if err := cmp.Or(err, r.locateIngress(ctx, c)); err != nil {
		return operator.Aside(v1alpha1.ReasonAddonsUnreachable, err.Error(), r.addonsAgain(c))
	}
	if unissued != nil {
		return operator.Aside(v1alpha1.ReasonIngressKeysUnusable, unissued.Error(), r.addonsAgain(c))
	}
	return r.judgeAddons(c)
}

// hasPool says whether a cluster has a node pool that stays.
func hasPool(c *v1alpha1.Cluster, pools []v1alpha1.NodePool) bool {
	for i := range pools {
		if pools[i].Spec.ClusterName == c.Name && pools[i].DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}

// judgeAddons says of all addons what their states say of each.
func (r *reconciler) judgeAddons(c *v1alpha1.Cluster) operator.Outcome {
	reason, message := v1alpha1.ReasonAddonsReady, ""
	for _, a := range c.Status.Addons {
		switch {
		case a.State == v1alpha1.AddonFailed && reason != v1alpha1.ReasonAddonsFailed:
			reason, message = v1alpha1.ReasonAddonsFailed, a.Name+": "+a.Message
		case a.State == v1alpha1.AddonProgressing && reason == v1alpha1.ReasonAddonsReady:
			reason, message = v1alpha1.ReasonAddonsProgressing, a.Name+": "+a.Message
		}
	}
	if reason == v1alpha1.ReasonAddonsReady {
		return operator.DoneUntil(reason, text.Count(len(c.Status.Addons), "addon"), observeInterval)
	}
	return operator.Aside(reason, message, r.addonsAgain(c))
}

// addonsAgain is when addons that are not ready are looked at again.
func (r *reconciler) addonsAgain(c *v1alpha1.Cluster) time.Duration {
	ready := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAddonsReady)
	if ready == nil || ready.Status == metav1.ConditionTrue || r.Now().Sub(ready.LastTransitionTime.Time) < addonsFresh {
		return addonsSoon
	}
	return observeInterval
}
