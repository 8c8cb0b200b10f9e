package controlplane

import (
	"cmp"
	"strconv"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/runner"
)

// size is what a control plane may take of where it runs.
type size struct {
	apiServer, controllerManager, scheduler runner.Resources
	// inflight is how many requests the API server serves at a time, and mutating how many of those that change
	// something. It shares both out among its callers by priority and fairness; who waits is told to come back.
	inflight, mutating int
	events             eventRate
}

// sizes of tenants. Requests of memory are what the components of an idle control plane take, and a little more; those of
// processors are its share when all are busy.
var sizes = map[v1alpha1.ControlPlaneSize]size{
	v1alpha1.ControlPlaneSmall:  {resources(50, 256, 1024), resources(20, 64, 320), resources(10, 32, 192), 100, 50, 50},
	v1alpha1.ControlPlaneMedium: {resources(100, 256, 2048), resources(40, 64, 640), resources(20, 32, 384), 200, 100, 100},
	v1alpha1.ControlPlaneLarge:  {resources(200, 256, 6144), resources(80, 64, 1536), resources(40, 32, 512), 400, 200, 200},
}

// unlimited is the size of a plane on which all tenants depend: as many requests and events as upstream serves.
var unlimited = size{resources(500, 256, 0), resources(200, 64, 0), resources(100, 32, 0), 0, 0, 0}

func (d Description) size() size {
	if d.Own {
		return unlimited
	}
	return sizes[cmp.Or(d.Size, v1alpha1.ControlPlaneMedium)]
}

// resources are those of one component; no limit of memory when it is 0.
func resources(milliCPU, requested, limit int64) runner.Resources {
	return runner.Resources{
		Requests: runner.Amounts{MilliCPU: milliCPU, Memory: requested << 20},
		Limits:   runner.Amounts{Memory: limit << 20},
	}
}

// memoryEnv has a Go program collect garbage harder when it comes near its limit, before the kernel ends it.
func memoryEnv(r runner.Resources) []string {
	if r.Limits.Memory == 0 {
		return nil
	}
	return []string{"GOMEMLIMIT=" + strconv.FormatInt(r.Limits.Memory/10*9, 10)}
}

// requestLimits are the API server's arguments for the size; none for upstream's own.
func (s size) requestLimits() []string {
	if s.inflight == 0 {
		return nil
	}
	return []string{
		"--max-requests-inflight=" + strconv.Itoa(s.inflight),
		"--max-mutating-requests-inflight=" + strconv.Itoa(s.mutating),
	}
}
