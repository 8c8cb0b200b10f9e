package organization

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

func quantity(text string) *resource.Quantity {
	if text == "" {
		return nil
	}
	return ptr.To(resource.MustParse(text))
}

func resources(cpu, memory string) v1alpha1.MachineResources {
	return v1alpha1.MachineResources{CPU: quantity(cpu), Memory: quantity(memory)}
}

func TestAmountOf(t *testing.T) {
	const gi = int64(1) << 30
	pool := func(provider, cpu, memory string, replicas int32, most *int32) client.Object {
		p := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Replicas: replicas, MaxReplicas: most}}
		p.Spec.Template.Provider = provider
		if cpu+memory != "" {
			p.Spec.Template.Resources = ptr.To(resources(cpu, memory))
		}
		return p
	}
	host := resources("8", "16Gi")
	unmeasured := v1alpha1.Status{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionStoreQuotaExceeded, Status: metav1.ConditionUnknown}}}
	both := v1alpha1.Status{Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionStoreQuotaExceeded, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionStoreUnmeasured, Status: metav1.ConditionTrue},
	}}
	tests := map[string]struct {
		object client.Object
		host   v1alpha1.MachineResources
		want   Amount
	}{
		"a cluster":                                     {&v1alpha1.Cluster{}, host, Amount{Clusters: 1}},
		"a control plane holds bytes":                   {&v1alpha1.ControlPlane{Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(7, resource.BinarySI)}}, host, Amount{Store: 7}},
		"a copy, which is there for minutes":            {&v1alpha1.ControlPlane{Spec: v1alpha1.ControlPlaneSpec{CopyOf: "other"}, Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(7, resource.BinarySI)}}, host, Amount{}},
		"a control plane that cannot be measured":       {&v1alpha1.ControlPlane{Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(7, resource.BinarySI), Status: unmeasured}}, host, Amount{Store: 7, Unmeasured: 1}},
		"one that held too much before, neither":        {&v1alpha1.ControlPlane{Status: v1alpha1.ControlPlaneStatus{StoreUsed: resource.NewQuantity(7, resource.BinarySI), Status: both}}, host, Amount{Store: 7, Unmeasured: 1}},
		"each node has as much":                         {pool("local", "1500m", "2Gi", 3, nil), host, Amount{Nodes: 3, Local: 3, CPU: 4500, Memory: 6 * gi}},
		"the most that the pool may have":               {pool("local", "2", "4Gi", 1, ptr.To[int32](5)), host, Amount{Nodes: 5, Local: 5, CPU: 10000, Memory: 20 * gi}},
		"a bound below what is wanted":                  {pool("local", "2", "4Gi", 3, ptr.To[int32](1)), host, Amount{Nodes: 3, Local: 3, CPU: 6000, Memory: 12 * gi}},
		"not said is all of the host":                   {pool("local", "", "", 2, nil), host, Amount{Nodes: 2, Local: 2, CPU: 16000, Memory: 32 * gi}},
		"half said":                                     {pool("local", "", "4Gi", 2, nil), host, Amount{Nodes: 2, Local: 2, CPU: 16000, Memory: 8 * gi}},
		"a host of unknown size":                        {pool("local", "", "", 1, nil), v1alpha1.MachineResources{}, Amount{Nodes: 1, Local: 1, CPU: 1024000, Memory: 64 << 40}},
		"self-managed nodes are not ours":               {pool("manual", "", "", 9, nil), host, Amount{Nodes: 9, Manual: 9}},
		"no nodes":                                      {pool("local", "2", "4Gi", 0, nil), host, Amount{}},
		"the largest that a pool may be":                {pool("local", "1024", "64Ti", 1000, nil), host, Amount{Nodes: 1000, Local: 1000, CPU: 1024000000, Memory: 64 << 40 * 1000}},
		"what no schema would take does not begin anew": {pool("local", "1", "8Ei", 1000, nil), host, Amount{Nodes: 1000, Local: 1000, CPU: 1000000, Memory: math.MaxInt64}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, amountOf(tc.object, tc.host)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSum(t *testing.T) {
	got := sum(map[int]Amount{
		1: {Clusters: 1, Store: 5}, 2: {Nodes: 3, Local: 3, CPU: 1500, Memory: math.MaxInt64 - 1}, 3: {Nodes: 1, Manual: 1, CPU: 500, Memory: 2}, 4: {Store: 6},
	})
	want := Amount{Clusters: 1, Nodes: 4, Local: 3, Manual: 1, CPU: 2000, Memory: math.MaxInt64, Store: 11}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExceeded(t *testing.T) {
	const gi = int64(1) << 30
	tests := map[string]struct {
		quota      *v1alpha1.Quota
		used, next Amount
		field      string
		message    string // empty: let through
	}{
		"no quota":         {nil, Amount{}, Amount{CPU: math.MaxInt64}, "", ""},
		"nothing bounded":  {&v1alpha1.Quota{}, Amount{}, Amount{Clusters: 9, Nodes: 9, CPU: 9, Memory: 9}, "", ""},
		"just as much":     {&v1alpha1.Quota{CPU: quantity("4")}, Amount{CPU: 1000}, Amount{CPU: 4000}, "", ""},
		"half a cpu more":  {&v1alpha1.Quota{CPU: quantity("4")}, Amount{CPU: 3500}, Amount{CPU: 4500}, fieldCPU, "the organization's quota of cpu is 4, of which 3500m are used; this needs 1 more"},
		"memory":           {&v1alpha1.Quota{Memory: quantity("8Gi")}, Amount{Memory: 6 * gi}, Amount{Memory: 10 * gi}, fieldMemory, "the organization's quota of memory is 8Gi, of which 6Gi are used; this needs 4Gi more"},
		"nodes come first": {&v1alpha1.Quota{Nodes: ptr.To[int32](1), CPU: quantity("1")}, Amount{}, Amount{Nodes: 2, CPU: 2000}, "spec.replicas", "the organization's quota of nodes is 1, of which 0 are used; this needs 2 more"},
		"local machines":   {&v1alpha1.Quota{Machines: &v1alpha1.MachineQuota{Local: ptr.To[int32](2)}}, Amount{Local: 2, Manual: 7}, Amount{Local: 3, Manual: 9}, "spec.replicas", "the organization's quota of local machines is 2, of which 2 are used; this needs 1 more"},
		"manual machines":  {&v1alpha1.Quota{Machines: &v1alpha1.MachineQuota{Manual: ptr.To[int32](0)}}, Amount{Local: 2}, Amount{Local: 9, Manual: 1}, "spec.replicas", "the organization's quota of manual machines is 0, of which 0 are used; this needs 1 more"},
		"none at all":      {&v1alpha1.Quota{CPU: quantity("0")}, Amount{}, Amount{CPU: 1}, fieldCPU, "the organization's quota of cpu is 0, of which 0 are used; this needs 1m more"},
		"less than before": {&v1alpha1.Quota{CPU: quantity("1")}, Amount{CPU: 5000}, Amount{CPU: 4000}, "", ""},
		"the same":         {&v1alpha1.Quota{Memory: quantity("1Gi")}, Amount{Memory: 5 * gi}, Amount{Memory: 5 * gi}, "", ""},
		"store is left":    {&v1alpha1.Quota{Store: quantity("1Gi")}, Amount{Store: gi - 1}, Amount{Clusters: 1, Store: gi - 1}, "", ""},
		"store is used up": {&v1alpha1.Quota{Store: quantity("1Gi")}, Amount{Store: gi}, Amount{Clusters: 1, Store: gi}, "metadata.name", "the organization's quota of store is 1Gi, of which 1Gi are used; delete objects in its clusters, or clusters"},
		"store is rounded": {&v1alpha1.Quota{Store: quantity("1Ki")}, Amount{Store: 1025}, Amount{Clusters: 1}, "metadata.name", "the organization's quota of store is 1Ki, of which 2Ki are used; delete objects in its clusters, or clusters"},
		"not measured": {
			&v1alpha1.Quota{Store: quantity("1Gi")}, Amount{Unmeasured: 2}, Amount{Clusters: 1, Unmeasured: 2}, "metadata.name",
			"the organization's quota of store is 1Gi, and for an hour it could not be measured how much 2 of its control planes hold; the log of KQueen says why",
		},
		"not measured, and no quota":   {&v1alpha1.Quota{}, Amount{Unmeasured: 2}, Amount{Clusters: 1, Unmeasured: 2}, "", ""},
		"not measured, and no cluster": {&v1alpha1.Quota{Store: quantity("1Gi")}, Amount{Unmeasured: 2}, Amount{Nodes: 1, Unmeasured: 2}, "", ""},
		"store and a pool":             {&v1alpha1.Quota{Store: quantity("1Gi")}, Amount{Store: 2 * gi}, Amount{Nodes: 1, Store: 2 * gi}, "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := exceeded(tc.quota, tc.used, tc.next)
			if got == nil {
				if tc.message != "" {
					t.Fatalf("let through, want: %s", tc.message)
				}
				return
			}
			if got.Field != tc.field || got.Message != tc.message || got.Type != CauseQuotaExceeded {
				t.Errorf("got %+v, want %s: %s", got, tc.field, tc.message)
			}
		})
	}
}
