package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Default fills in what is not said, as the schema of the kind does when an API server takes an object: for those
// who show the defaults, and for those who read objects that no API server has filled in.
func (s *NodePoolSpec) Default() {
	if s.Template.Provider == "" {
		s.Template.Provider = ProviderLocal
	}
	s.Template.Drain.Default()
	setDefault(&s.Health.UnreadyTimeoutSeconds, 300)
	setDefault(&s.Health.StartupTimeoutSeconds, 900)
	setDefault(&s.Health.MaxUnhealthy, intstr.FromString("40%"))
	setDefault(&s.Rollout.MaxSurge, intstr.FromInt32(1))
	setDefault(&s.Rollout.MaxUnavailable, intstr.FromInt32(0))
	if s.Autoscaling != nil {
		setDefault(&s.Autoscaling.IdleSeconds, 600)
	}
}

// IdleTime is IdleSeconds as a duration; 0 for one that is not said.
func (a *PoolAutoscaling) IdleTime() time.Duration { return ofSeconds(a.IdleSeconds) }

// Default fills in what is not said.
func (d *DrainPolicy) Default() { setDefault(&d.TimeoutSeconds, 600) }

// Timeout is TimeoutSeconds as a duration; 0 for one that is not said.
func (d *DrainPolicy) Timeout() time.Duration { return ofSeconds(d.TimeoutSeconds) }

// UnreadyTimeout is UnreadyTimeoutSeconds as a duration; 0 for one that is not said.
func (p *HealthPolicy) UnreadyTimeout() time.Duration { return ofSeconds(p.UnreadyTimeoutSeconds) }

// StartupTimeout is StartupTimeoutSeconds as a duration; 0 for one that is not said.
func (p *HealthPolicy) StartupTimeout() time.Duration { return ofSeconds(p.StartupTimeoutSeconds) }

func ofSeconds(seconds *int32) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(*seconds) * time.Second
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
