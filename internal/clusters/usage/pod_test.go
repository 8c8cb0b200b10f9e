package usage

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAsks is the rule of PodRequests and PodLimits of k8s.io/component-helpers/resource, case by case.
func TestAsks(t *testing.T) {
	const (
		c1 = `{"name":"a","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"1","memory":"128Mi"}}}`
		c2 = `{"name":"b","resources":{"requests":{"cpu":"250m"}}}`
	)
	mi := func(n int64) int64 { return n << 20 }
	for name, c := range map[string]struct {
		pod              string
		requests, limits Amounts
	}{
		"Nothing":       {`{}`, Amounts{}, Amounts{}},
		"OneContainer":  {`{"spec":{"containers":[` + c1 + `]}}`, Amounts{100, mi(64)}, Amounts{1000, mi(128)}},
		"TwoContainers": {`{"spec":{"containers":[` + c1 + `,` + c2 + `]}}`, Amounts{350, mi(64)}, Amounts{1000, mi(128)}},
		"SmallInit":     {`{"spec":{"containers":[` + c1 + `],"initContainers":[{"resources":{"requests":{"cpu":"50m","memory":"64Mi"}}}]}}`, Amounts{100, mi(64)}, Amounts{1000, mi(128)}},
		"LargeInit": {
			`{"spec":{"containers":[` + c1 + `],"initContainers":[{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"3"}}},{"resources":{"requests":{"memory":"1Gi"}}}]}}`,
			Amounts{2000, mi(1024)}, Amounts{3000, mi(128)},
		},
		"Sidecar": {
			`{"spec":{"containers":[` + c1 + `],"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"10m"},"limits":{"cpu":"20m"}}}]}}`,
			Amounts{110, mi(64)}, Amounts{1020, mi(128)},
		},
		"InitAfterSidecar": {
			`{"spec":{"containers":[` + c1 + `],"initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}},{"name":"i","resources":{"requests":{"cpu":"500m"}}}]}}`,
			Amounts{510, mi(64)}, Amounts{1000, mi(128)},
		},
		"InitBeforeSidecar": {
			`{"spec":{"containers":[` + c1 + `],"initContainers":[{"name":"i","resources":{"requests":{"cpu":"500m"}}},{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}}]}}`,
			Amounts{500, mi(64)}, Amounts{1000, mi(128)},
		},
		"Overhead":        {`{"spec":{"overhead":{"cpu":"5m","memory":"1Mi"},"containers":[` + c1 + `]}}`, Amounts{105, mi(65)}, Amounts{1005, mi(129)}},
		"OverheadNoLimit": {`{"spec":{"overhead":{"cpu":"5m","memory":"1Mi"},"containers":[` + c2 + `]}}`, Amounts{255, mi(1)}, Amounts{}},
		"OfThePod": {
			`{"spec":{"resources":{"requests":{"cpu":"2"},"limits":{"memory":"1Gi"}},"overhead":{"cpu":"5m"},"containers":[` + c1 + `]}}`,
			Amounts{2005, mi(64)}, Amounts{1005, mi(1024)},
		},
		"GrownAndNotYet": {
			`{"spec":{"containers":[` + c1 + `]},"status":{"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"50m"},"resources":{"requests":{"cpu":"50m","memory":"32Mi"},"limits":{"cpu":"500m"}}}]}}`,
			Amounts{100, mi(64)}, Amounts{1000, mi(128)},
		},
		"ShrunkAndNotYet": {
			`{"spec":{"containers":[` + c1 + `]},"status":{"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"300m"},"resources":{"requests":{"cpu":"200m","memory":"64Mi"},"limits":{"cpu":"2"}}}]}}`,
			Amounts{300, mi(64)}, Amounts{2000, mi(128)},
		},
		"Infeasible": {
			`{"spec":{"containers":[` + c1 + `]},"status":{"conditions":[{"type":"PodResizePending","reason":"Infeasible"}],"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"50m"},"resources":{"requests":{"cpu":"40m","memory":"32Mi"},"limits":{"cpu":"500m"}}}]}}`,
			Amounts{50, mi(32)}, Amounts{500, 0},
		},
		"StatusOfAnInit": { // it has ended: what it had does not count
			`{"spec":{"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}}]},"status":{"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"9"}}}]}}`,
			Amounts{1000, 0}, Amounts{},
		},
		"Hostile": {
			`{"spec":{"containers":[{"resources":{"requests":{"cpu":"1e1000000000","memory":"-5Gi"}}},{"resources":{"requests":{"cpu":"x","memory":"9999999999999999999"}}}]}}`,
			Amounts{0, most}, Amounts{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p pod
			if err := json.Unmarshal([]byte(c.pod), &p); err != nil {
				t.Fatal(err)
			}
			requests, limits := p.asks()
			if diff := cmp.Diff([]Amounts{c.requests, c.limits}, []Amounts{requests, limits}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSums: no sum turns round, however much is added.
func TestSums(t *testing.T) {
	var s Sum
	for range 20_000 {
		s.add(Amounts{most, most}, Amounts{most, 1})
	}
	want := Sum{Requests: Amounts{math.MaxInt64, math.MaxInt64}, Limits: Amounts{math.MaxInt64, 20_000}, Pods: 20_000}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	used := func(cpu int64) *Used { return &Used{Amounts: Amounts{cpu, 1}} }
	r := Report{Nodes: []Node{{Sum: Sum{Pods: 1}, Allocatable: Has{Amounts{1000, 5}, 110}, Used: used(3)}, {Sum: Sum{Pods: 2}, Allocatable: Has{Amounts{1000, 5}, 110}, Used: used(4)}}}
	if diff := cmp.Diff(Node{Sum: Sum{Pods: 3}, Allocatable: Has{Amounts{2000, 10}, 220}, Used: &Used{Amounts: Amounts{7, 2}}}, r.Total()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.Nodes[0].Used = nil
	if got := r.Total(); got.Used != nil {
		t.Errorf("one node is not measured, and all use %+v", got.Used)
	}
}
