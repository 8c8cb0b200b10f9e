package supervise

import (
	"kqueen.io/kqueen/internal/platform/health"
)

// States that only a process of this host can be in, beside those of package health.
//
//	Adopted  --Apply--> Starting (or Stopping, when described otherwise)
//	Adopted  --exit---> Exited   (no Apply has said yet whether to start it again)
const (
	StateAdopted health.State = "Adopted" // found running from an earlier life, no Apply yet
	StateExited  health.State = "Exited"  // ended while Adopted
)

// Status is what a workload does now.
type Status struct {
	Components []ComponentStatus // sorted by name
	// Subject is what the workload is to users, by its last description, if that is known.
	Subject Subject
	// Confinement says how far the programs are confined: ConfinementComplete, or what is missing and why. It is empty for
	// a workload that is not to be, or was not described yet.
	Confinement string
}

// Ready reports whether there are components and all are ready.
func (s Status) Ready() bool { return s.Health().Ready() }

// Component returns the status of one component, or false.
func (s Status) Component(name string) (ComponentStatus, bool) {
	for _, c := range s.Components {
		if c.Name == name {
			return c, true
		}
	}
	return ComponentStatus{}, false
}

// Health is the status without what only processes of a host have: one that was adopted is about to be looked at, and
// one that ended meanwhile is about to be started again.
func (s Status) Health() health.Status {
	out := health.Status{Confinement: s.Confinement}
	for _, c := range s.Components {
		switch c.State {
		case StateAdopted:
			c.State = health.Starting
		case StateExited:
			c.State = health.Backoff
		}
		out.Components = append(out.Components, c.Component)
	}
	return out
}

// ComponentStatus is what one component does now.
type ComponentStatus struct {
	health.Component
	PID int // 0 when nothing runs
	Use Use // of the running process
}

// Use is what a process takes from the host.
type Use struct {
	AnonymousBytes uint64  // memory of its own that no other process shares
	ResidentBytes  uint64  // with file pages, which processes of one program share
	CPUSeconds     float64 // user and system, since it started
}
