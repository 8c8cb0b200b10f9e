package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/health"
)

// TestAdvance: the API server goes first, and what calls it is never newer.
func TestAdvance(t *testing.T) {
	const old, next = "v1.35.4", "v1.36.3"
	status := func(server, manager health.State) health.Status {
		return health.Status{Components: []health.Component{{Name: APIServer, State: server}, {Name: ControllerManager, State: manager}}}
	}
	type versions struct{ Managers, APIServer, Version string }
	cases := map[string]struct {
		version, apiServer string
		status             health.Status
		want               versions
		waits              bool
	}{
		"New":               {"", "", status(health.Starting, health.Waiting), versions{next, "", ""}, false},
		"NewReady":          {"", "", status(health.Ready, health.Ready), versions{next, next, next}, false},
		"EarlierKQueen":     {next, "", status(health.Ready, health.Ready), versions{next, next, next}, false},
		"APIServerStarts":   {old, old, status(health.Starting, health.Ready), versions{old, old, old}, false},
		"APIServerIsReady":  {old, old, status(health.Ready, health.Ready), versions{old, next, old}, true},
		"ManagersFollow":    {old, next, status(health.Ready, health.Starting), versions{next, next, old}, false},
		"APIServerIsAway":   {old, next, status(health.NotReady, health.Ready), versions{next, next, old}, false},
		"AllHaveTheVersion": {old, next, status(health.Ready, health.Ready), versions{next, next, next}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cp := &v1alpha1.ControlPlane{Spec: v1alpha1.ControlPlaneSpec{Version: next}}
			cp.Status.Version, cp.Status.APIServerVersion = tc.version, tc.apiServer
			managers := managerVersion(cp)
			step := advance(cp, managers, tc.status)
			if diff := cmp.Diff(tc.want, versions{managers, cp.Status.APIServerVersion, cp.Status.Version}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (step != nil) != tc.waits {
				t.Errorf("want to go on at once: %v, got %v", tc.waits, step)
			}
		})
	}
}
