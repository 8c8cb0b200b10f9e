package node

import (
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Judge says what the states of a machine's programs mean. It is pure.
func Judge(status health.Status) machine.Observed {
	if status.Ready() {
		return machine.Observed{State: machine.Running, Message: "all programs of the machine run"}
	}
	failing, waiting := status.Judge(nil)
	if failing != "" {
		return machine.Observed{State: machine.Failing, Message: failing}
	}
	return machine.Observed{State: machine.Creating, Message: "waiting for " + waiting}
}
