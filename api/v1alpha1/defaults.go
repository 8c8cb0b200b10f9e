package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Default fills in what is not said, as the schema of the kind does when an API server takes an object: for those
// who show the defaults, and for those who read objects that no API server has filled in.
func (s *NodePoolSpec) Default() {
	if s.Template.Provider == "" {
		s.Template.Provider = ProviderLocal
	}
	s.Template.Drain.Default()
	setDefault(&s.Health.UnreadyTimeout, metav1.Duration{Duration: 5 * time.Minute})
	setDefault(&s.Health.StartupTimeout, metav1.Duration{Duration: 15 * time.Minute})
	setDefault(&s.Health.MaxUnhealthy, intstr.FromString("40%"))
	setDefault(&s.Rollout.MaxSurge, intstr.FromInt32(1))
	setDefault(&s.Rollout.MaxUnavailable, intstr.FromInt32(0))
}

// Default fills in what is not said.
func (d *DrainPolicy) Default() { setDefault(&d.Timeout, metav1.Duration{Duration: 10 * time.Minute}) }

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
