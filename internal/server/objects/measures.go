package objects

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/operator"
)

// measureDeadline bounds the reads of one scrape, which are from a cache.
const measureDeadline = 5 * time.Second

// States of objects in kqueen_objects, beside those of work that goes on.
const (
	stateReady    = "ready"
	stateNotReady = "not_ready"
)

// Measures counts the objects of each kind by state when it is asked. It names no object and no organization: users make as many as they
// like.
type Measures struct{ Cache client.Reader }

var objectsMeasured = prometheus.NewDesc("kqueen_objects", "Objects of each kind, by how they are.", []string{"kind", "state"}, nil)

// Describe implements [prometheus.Collector].
func (Measures) Describe(to chan<- *prometheus.Desc) { to <- objectsMeasured }

// Collect implements [prometheus.Collector].
func (m Measures) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), measureDeadline)
	defer cancel()
	for _, k := range kinds() {
		list := k.list()
		if err := m.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			to <- prometheus.NewInvalidMetric(objectsMeasured, err)
			continue
		}
		counts := map[string]int{}
		for _, state := range []string{stateReady, stateNotReady, rest.StateRunning, rest.StateRetrying, rest.StateStalled} {
			counts[strings.ToLower(state)] = 0
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			counts[stateOf(k.Name, o.(operator.Object))]++
			return nil
		})
		if err != nil {
			to <- prometheus.NewInvalidMetric(objectsMeasured, err)
			continue
		}
		for state, n := range counts {
			to <- prometheus.MustNewConstMetric(objectsMeasured, prometheus.GaugeValue, float64(n), k.Name, state)
		}
	}
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
