package controlplane

import (
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator"
)

// sleeping says in the status that nothing runs any more, once that is so: the gateway takes the port then. It is as the gateway has it until
// the API server, which gets the port there, is ready again: what is held before that is answered.
func sleeping(cp *v1alpha1.ControlPlane, running int) operator.Outcome {
	if running > 0 {
		return operator.Wait(v1alpha1.ReasonAsleep, "the components are being stopped", time.Second)
	}
	cp.Status.Asleep = true
	return operator.Wait(v1alpha1.ReasonAsleep, "nothing runs; a client that connects wakes it", componentsCheck)
}

// awake says in the status that the API server serves, once that is so: the gateway passes on what it has held.
func awake(cp *v1alpha1.ControlPlane, status health.Status) {
	if server, ok := status.Component(APIServer); ok && server.State == health.Ready {
		cp.Status.Asleep = false
	}
}

// leavePort has the gateway leave the port before an API server starts that cannot take it over; nil when there is nothing to wait for.
func leavePort(cp *v1alpha1.ControlPlane, releases Releases) *operator.Outcome {
	if !cp.Status.Asleep || takesPort(releases, cp.Spec.Version) {
		return nil
	}
	cp.Status.Asleep = false
	waiting := operator.Wait(v1alpha1.ReasonComponentsStarting, "the gateway leaves the port to the API server", time.Second)
	return &waiting
}

// takesPort says whether the API server of a version takes its port over from what has it.
func takesPort(in Releases, version string) bool {
	v, err := release.ParseVersion(version)
	if err != nil {
		return false
	}
	binaries, ok, err := in.Lookup(v)
	return err == nil && ok && binaries.HandsOver
}
