package supervise

import (
	"sync"

	"kqueen.io/kqueen/internal/platform/health"
)

// workload is one control plane's set of keepers.
type workload struct {
	id, dir string
	op      chan struct{} // holds 1: the right to change the workload (Reserve, Apply, Stop, Remove)

	mu      sync.Mutex
	keepers map[string]*keeper
	// confinement is ConfinementComplete, or why the programs were not confined when they were described last; empty when
	// they are not to be.
	confinement string
	// unwalled says why connections are not limited as described, or is empty; walled is for which rules they are. The one
	// is guarded by mu, the other by op.
	unwalled, walled string
	// behind says that it is put behind others (balance), and background that it is in the background.
	behind, background bool
	// management says that it is there for KQueen alone.
	management bool
}

// unready returns the first of the named components that is not ready as it was ordered, or "". One that is about to be
// restarted is not ready.
func (wl *workload) unready(names []string) string {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	for _, name := range names {
		k := wl.keepers[name]
		if k == nil || k.status.State != health.Ready || k.want.kind != orderRun || k.ran != k.want.spec {
			return name
		}
	}
	return ""
}

// pokeOthers lets the workload's other keepers look again.
func (wl *workload) pokeOthers(but *keeper) {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	for _, k := range wl.keepers {
		if k != but {
			k.poke()
		}
	}
}

// tell gives a keeper a new order. The caller holds wl.mu.
func (k *keeper) tell(o order) {
	o.rev = k.want.rev + 1
	k.want = o
	k.poke()
}
