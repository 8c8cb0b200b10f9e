package controlplane

import (
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator"
)

// managerVersion is what controller manager and scheduler are to run: what they ran before, until the API server of the wanted version is
// ready. Over a copy there are none. It is pure.
//
// Source: https://kubernetes.io/releases/version-skew-policy/: they "must not be newer than the kube-apiserver instances they communicate
// with".
func managerVersion(cp *v1alpha1.ControlPlane) string {
	if cp.IsCopy() || cp.Status.Version == "" || cp.Status.APIServerVersion == cp.Spec.Version {
		return cp.Spec.Version
	}
	return cp.Status.Version
}

// advance takes note of how far a control plane is on its way to the wanted version, and says so while it is not there: managers is the
// version that controller manager and scheduler were last described with.
func advance(cp *v1alpha1.ControlPlane, managers string, status health.Status) *operator.Outcome {
	if server, ok := status.Component(APIServer); ok && server.State == health.Ready {
		cp.Status.APIServerVersion = cp.Spec.Version
	}
	if managers == cp.Spec.Version {
		if status.Ready() {
			cp.Status.Version = cp.Spec.Version
		}
		return nil
	}
	if cp.Status.APIServerVersion != cp.Spec.Version {
		return nil // what the API server waits for is said of it
	}
	next := operator.Wait(v1alpha1.ReasonComponentsStarting,
		"the API server is "+cp.Spec.Version+"; the controller manager and the scheduler follow", time.Millisecond)
	return &next
}
