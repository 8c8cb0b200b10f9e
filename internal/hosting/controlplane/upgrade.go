package controlplane

import (
	"cmp"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
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

// mayRun says whether a control plane may go from what it runs to another version: to a newer one, or back to an older one that it emulates. It
// is pure.
func mayRun(running, wanted release.Version, emulated string) error {
	if wanted.Compare(running) < 0 {
		return release.CheckRollback(running, wanted, emulated)
	}
	return release.CheckUpgrade(running, wanted)
}

// emulation is the flag with which a component of a version behaves as an older API server does, or as the API server emulates; nothing where
// it is not newer. The manager of a newer minor may stay beside an API server that went back: "emulated version" counts for the skew of
// components, by https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/.
func (d Description) emulation(of string) []string {
	program, errProgram := release.ParseVersion(of)
	server, errServer := release.ParseVersion(d.Version)
	if errProgram != nil || errServer != nil { // such a version was refused
		return nil
	}
	wanted := cmp.Or(d.EmulatedVersion, server.MinorString())
	if program.MinorString() == wanted || program.Minor() < server.Minor() {
		return nil
	}
	return []string{"--emulated-version=" + strings.TrimPrefix(wanted, "v")}
}

// advance takes note of how far a control plane is on its way to the wanted version, and says so while it is not there: managers is the
// version that controller manager and scheduler were last described with.
func advance(cp *v1alpha1.ControlPlane, managers string, status health.Status) *operator.Outcome {
	if server, ok := status.Component(APIServer); ok && server.State == health.Ready {
		cp.Status.APIServerVersion = cp.Spec.Version
	}
	if managers == cp.Spec.Version {
		if status.Ready() {
			cp.Status.Version, cp.Status.EmulatedVersion = cp.Spec.Version, cp.Spec.Emulates()
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
