package objects

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// counting is a cluster, ready as a condition of its present generation says; an empty status is none.
func counting(organization, provisioner, version string, ready metav1.ConditionStatus) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NamespacePrefix + organization, Generation: 2},
		Spec:       v1alpha1.ClusterSpec{ProvisionerRef: v1alpha1.ProvisionerReference{Name: provisioner}, Version: version},
	}
	if ready != "" {
		c.Status.ObservedGeneration = 2
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}
	}
	return c
}

func TestSummaryOf(t *testing.T) {
	old := counting("red", "imported", "", metav1.ConditionTrue)
	old.Status.ObservedGeneration = 1
	going := counting("blue", "hosted", "v1.36.3", metav1.ConditionFalse)
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	rising := counting("blue", "hosted", "v1.36.3", metav1.ConditionTrue)
	rising.Status.Version = "v1.35.4"
	counts := func(pairs ...any) (c rest.Counts) {
		c.Items = []rest.Count{}
		for i := 0; i < len(pairs); i += 2 {
			c.Items = append(c.Items, rest.Count{Value: pairs[i].(string), Count: pairs[i+1].(int)})
		}
		return c
	}
	for name, tc := range map[string]struct {
		all  []client.Object
		want rest.ClusterSummary
	}{
		"None": {nil, rest.ClusterSummary{ByReadiness: counts(), ByVersion: counts(), ByProvisioner: counts(), ByOrganization: counts()}},
		"Some": {
			[]client.Object{old, going, rising, counting("blue", "hosted", "v1.35.4", ""), counting("green", "imported", "v1.35.4", metav1.ConditionTrue)},
			rest.ClusterSummary{
				Total: 5, Deleting: 1,
				ByReadiness:    counts("ready", 2, "unknown", 2, "notReady", 1),
				ByVersion:      counts("v1.35.4", 3, "", 1, "v1.36.3", 1),
				ByProvisioner:  counts("hosted", 3, "imported", 2),
				ByOrganization: counts("blue", 3, "green", 1, "red", 1),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summaryOf(tc.all)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyCounts: of more values than are answered the most frequent ones are, and none of what is counted is lost.
func TestManyCounts(t *testing.T) {
	var all []client.Object
	for n := range 150 {
		for range 1 + n%2 {
			all = append(all, counting(fmt.Sprintf("o%03d", n), "hosted", "v1.36.3", ""))
		}
	}
	got := summaryOf(all).ByOrganization
	first, last := rest.Count{Value: "o001", Count: 2}, rest.Count{Value: "o048", Count: 1}
	if len(got.Items) != rest.MostCounts || got.More != 50 || got.Items[0] != first || got.Items[99] != last {
		t.Errorf("%d values from %v to %v, and %d more", len(got.Items), got.Items[0], got.Items[len(got.Items)-1], got.More)
	}
}

func BenchmarkSummaryOf(b *testing.B) {
	var all []client.Object
	for n := range 2000 {
		all = append(all, counting(fmt.Sprintf("o%d", n%40), "hosted", fmt.Sprintf("v1.36.%d", n%5), metav1.ConditionTrue))
	}
	for b.Loop() {
		summaryOf(all)
	}
}
