package objects

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/operator"
)

// States of objects in kqueen_objects, beside those of work that goes on.
const (
	stateReady    = "ready"
	stateNotReady = "not_ready"
)

var objectsMeasured = prometheus.NewDesc("kqueen_objects", "Objects of each kind, by how they are.", []string{"kind", "state"}, nil)

// Measures counts the objects of each kind by state, for one scrape, which ends with ctx. It names no object and no organization: users make
// as many as they like.
func Measures(ctx context.Context, cache client.Reader) prometheus.Collector {
	return measures(func(to chan<- prometheus.Metric) {
		for _, k := range kinds() {
			counts, err := countStates(ctx, cache, k)
			if err != nil {
				to <- prometheus.NewInvalidMetric(objectsMeasured, err)
			}
			for state, n := range counts {
				to <- prometheus.MustNewConstMetric(objectsMeasured, prometheus.GaugeValue, float64(n), k.Name, state)
			}
		}
	})
}

// measures sends what it has measured.
type measures func(to chan<- prometheus.Metric)

// Describe implements [prometheus.Collector].
func (measures) Describe(to chan<- *prometheus.Desc) { to <- objectsMeasured }

// Collect implements [prometheus.Collector].
func (m measures) Collect(to chan<- prometheus.Metric) { m(to) }

// countStates counts the objects of a kind by each state that there is.
func countStates(ctx context.Context, cache client.Reader, k kind) (map[string]int, error) {
	list, counts := k.list(), map[string]int{}
	if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for _, state := range []string{stateReady, stateNotReady, rest.StateRunning, rest.StateRetrying, rest.StateStalled} {
		counts[strings.ToLower(state)] = 0
	}
	return counts, apimeta.EachListItem(list, func(o runtime.Object) error {
		counts[stateOf(k.Name, o.(operator.Object))]++
		return nil
	})
}

// stateOf is how an object is: what goes on with it, or else whether it is ready. It is pure.
func stateOf(kind string, o operator.Object) string {
	if op := operationOf(kind, o); op != nil {
		return strings.ToLower(op.State)
	}
	if readiness(o) == "true" {
		return stateReady
	}
	return stateNotReady
}
