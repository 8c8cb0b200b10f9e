package node

import (
	"strings"

	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Judge says what the states of a machine's components mean. It is pure.
func Judge(status health.Status) machine.Observed {
	if status.Ready() {
		return machine.Observed{State: machine.Running, Message: "all programs of the machine run"}
	}
	var starting, failing []string
	for _, c := range status.Components {
		switch c.State {
		case health.Ready:
		case health.Starting, health.Waiting, health.Stopping:
			if c.LastExit == nil {
				starting = append(starting, c.Name)
				continue
			}
			failing = append(failing, c.Name+" "+c.Trouble())
		default:
			failing = append(failing, c.Name+" "+c.Trouble())
		}
	}
	if len(failing) > 0 {
		return machine.Observed{State: machine.Failing, Message: strings.Join(failing, "; ")}
	}
	return machine.Observed{State: machine.Creating, Message: "waiting for " + strings.Join(starting, ", ")}
}
