package autoscaler

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// pausedMessage is how the message of a pool begins whose cluster could not be asked.
const pausedMessage = "nothing is changed, because the cluster could not be asked what it needs: "

// causeOf is an error in the words of a status.
func causeOf(err error) string { return listing.Clean(err.Error(), longestCause) }

func (r *reconciler) now() metav1.Time { return metav1.NewTime(r.Now().Truncate(time.Second)) }

func (r *reconciler) announceScale(p *v1alpha1.NodePool, from int32, d PoolDecision) {
	reason := v1alpha1.ReasonScaledUp
	if d.Replicas < from {
		reason = v1alpha1.ReasonScaledDown
	}
	if r.Recorder != nil {
		r.Recorder.Eventf(p, nil, corev1.EventTypeNormal, reason, "Autoscale", "%s", fmt.Sprintf("from %d to %d: %s", from, d.Replicas, d.Why))
	}
}

func (r *reconciler) warn(p *v1alpha1.NodePool, reason, note string) {
	if r.Recorder != nil {
		r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, reason, "Autoscale", "%s", note)
	}
}

// Measures count over all pools. They name none: pools are as many as users like. A nil one counts nothing.
type Measures struct{ machines *prometheus.CounterVec }

// NewMeasures returns counters that stand at 0.
func NewMeasures() *Measures {
	m := &Measures{machines: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kqueen_autoscaled_machines_total", Help: "Machines by which nodepools were made larger or smaller for the need of pods.",
	}, []string{"direction"})}
	m.machines.WithLabelValues("up")
	m.machines.WithLabelValues("down")
	return m
}

// Collector is what a registry takes.
func (m *Measures) Collector() prometheus.Collector { return m.machines }

func (m *Measures) count(from, to int32) {
	switch {
	case m == nil:
	case to > from:
		m.machines.WithLabelValues("up").Add(float64(to - from))
	default:
		m.machines.WithLabelValues("down").Add(float64(from - to))
	}
}
