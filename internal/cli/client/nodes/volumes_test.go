package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBoundTo: a volume is lost with a node when its pods can run on that one alone.
func TestBoundTo(t *testing.T) {
	in := func(key string, hosts ...string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: hosts}}},
		}}}
	}
	volume := func(claim string, affinity *corev1.VolumeNodeAffinity) corev1.PersistentVolume {
		v := corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: affinity}}
		if claim != "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim}
		}
		return v
	}
	volumes := []corev1.PersistentVolume{
		volume("data-db-1", in(corev1.LabelHostname, "a")), volume("data-db-0", in(corev1.LabelHostname, "a")),
		volume("elsewhere", in(corev1.LabelHostname, "b")), volume("two", in(corev1.LabelHostname, "a", "b")),
		volume("zone", in(corev1.LabelTopologyZone, "a")), volume("anywhere", nil), volume("", in(corev1.LabelHostname, "a")),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelHostname: "a"}}}
	if diff := cmp.Diff([]string{"shop/data-db-0", "shop/data-db-1"}, boundTo(volumes, node)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := boundTo(volumes, &corev1.Node{}); len(got) > 0 {
		t.Errorf("a node without a host name has %v", got)
	}
}
