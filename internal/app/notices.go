//go:build linux

package app

import (
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/platform/operator"
)

// notices bring what happens outside the API to the engine and the controllers that it concerns.
type notices struct {
	engine engine.Engine
	own    chan struct{} // the engine's workloads
	// awaited are those of the installation's own workloads that are waited for by themselves: the gateways and the simulator.
	awaited map[string]chan struct{}
	// controlPlanes, machines and clusters get UIDs, and credentials gets audiences.
	controlPlanes, machines, clusters, credentials *operator.Notices
}

func newNotices(e engine.Engine) *notices {
	return &notices{
		engine: e, own: make(chan struct{}, 1),
		awaited:       map[string]chan struct{}{workloadGateway: make(chan struct{}, 1), workloadIngress: make(chan struct{}, 1), workloadSimulator: make(chan struct{}, 1)},
		controlPlanes: operator.NewNotices(), machines: operator.NewNotices(), clusters: operator.NewNotices(), credentials: operator.NewNotices(),
	}
}

// workload takes the runner's word that a component of a workload changed. It does not block.
func (n *notices) workload(id string) {
	if owns(n.engine, id) {
		of, ok := n.awaited[id]
		if !ok {
			of = n.own
		}
		select {
		case of <- struct{}{}:
		default:
		}
		return
	}
	// The runner does not know what it runs: the controller finds it that has an object of that UID.
	n.controlPlanes.Send(id)
	n.machines.Send(id)
}
