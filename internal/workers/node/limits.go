package node

import "kqueen.io/kqueen/internal/workers/machine"

// Limits bound all that runs in a machine together: pods and what makes it a node.
type Limits struct {
	// Size bounds memory and processors.
	Size machine.Size `json:"size,omitzero"`
	// PIDs is how many processes and threads there may be; 0 is not bounded.
	PIDs int64 `json:"pids,omitempty"`
	// Devices says that nothing but the devices that every container has can be opened, whatever names it gets. It holds
	// with cgroups of version 1.
	Devices bool `json:"devices,omitempty"`
}
