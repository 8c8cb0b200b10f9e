package controlplane

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// announceBefore is how long before an authority expires that is announced.
const announceBefore = 180 * 24 * time.Hour

// noteExpiry says when the first authority of a control plane expires, and announces it. Where none was ever about to, there is no condition.
func noteExpiry(cp *v1alpha1.ControlPlane, name string, end, now time.Time) {
	if name == "" {
		return
	}
	cp.Status.AuthorityExpirationTime = ptr.To(metav1.NewTime(end))
	c := metav1.Condition{
		Type: v1alpha1.ConditionAuthorityExpiring, Status: metav1.ConditionFalse, ObservedGeneration: cp.Generation,
		Reason: v1alpha1.ReasonAuthorityReplaced, Message: "no authority expires soon",
	}
	if !now.Before(end.Add(-announceBefore)) {
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonAuthorityExpires
		c.Message = fmt.Sprintf("the authority %q expires at %s, and with it all that it has signed; %s", name, end.UTC().Format(time.RFC3339), remedy(name, cp.Name))
	}
	if c.Status == metav1.ConditionTrue || apimeta.FindStatusCondition(cp.Status.Conditions, c.Type) != nil {
		apimeta.SetStatusCondition(&cp.Status.Conditions, c)
	}
}

// remedy is what a user can do about an authority that expires. It is pure.
func remedy(name, cluster string) string {
	switch name {
	case "ca":
		return "replace it with: kqueen cluster rotate ca " + cluster
	case "next-ca":
		return "finish the rotation with: kqueen cluster rotate finish " + cluster
	}
	return "it cannot be rotated: move to another cluster before"
}
