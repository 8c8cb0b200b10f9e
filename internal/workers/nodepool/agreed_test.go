package nodepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestAgreed: a pool speaks of an earlier life while it counts more ready nodes than there are.
func TestAgreed(t *testing.T) {
	pool := func(uid types.UID, counts int32) v1alpha1.NodePool {
		return v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: v1alpha1.NodePoolStatus{ReadyReplicas: counts}}
	}
	machine := func(of types.UID, node metav1.ConditionStatus) v1alpha1.Machine {
		m := v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: of, Controller: ptr.To(true)}}}}
		m.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNodeReady, Status: node}}
		return m
	}
	leaves := func(m v1alpha1.Machine) v1alpha1.Machine {
		m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		return m
	}
	going := pool("a", 2)
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	const yes, no, unseen = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tc := range map[string]struct {
		pools    []v1alpha1.NodePool
		machines []v1alpha1.Machine
		want     bool
	}{
		"Nothing":     {nil, nil, true},
		"AsMany":      {[]v1alpha1.NodePool{pool("a", 1)}, []v1alpha1.Machine{machine("a", yes), machine("a", no)}, true},
		"NotCounted":  {[]v1alpha1.NodePool{pool("a", 0)}, []v1alpha1.Machine{machine("a", yes)}, true},
		"NotReady":    {[]v1alpha1.NodePool{pool("a", 2)}, []v1alpha1.Machine{machine("a", yes), machine("a", no)}, false},
		"NotSeen":     {[]v1alpha1.NodePool{pool("a", 1)}, []v1alpha1.Machine{machine("a", unseen)}, false},
		"NotLookedAt": {[]v1alpha1.NodePool{pool("a", 1)}, []v1alpha1.Machine{{}}, false},
		"Another's":   {[]v1alpha1.NodePool{pool("a", 0), pool("b", 1)}, []v1alpha1.Machine{machine("a", yes)}, false},
		"Leaves":      {[]v1alpha1.NodePool{pool("a", 1)}, []v1alpha1.Machine{leaves(machine("a", yes))}, false},
		"IsDeleted":   {[]v1alpha1.NodePool{going}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := agreed(tc.pools, tc.machines); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
