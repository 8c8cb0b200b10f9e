package controlplane

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
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

// TestGoesBack: the emulated minor is noted when all behave as it, stays noted while the version is lowered, and goes with the last component;
// at no time is the step refused.
func TestGoesBack(t *testing.T) {
	status := func(server, manager health.State) health.Status {
		return health.Status{Components: []health.Component{{Name: APIServer, State: server}, {Name: ControllerManager, State: manager}}}
	}
	cp := &v1alpha1.ControlPlane{Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3", EmulatedVersion: "v1.35"}}
	cp.Status.Version, cp.Status.APIServerVersion = "v1.36.3", "v1.36.3"
	for n, step := range []struct {
		version, emulated string
		status            health.Status
		want              string // versions of API server, of what is done and what is emulated, and flags
	}{
		{"v1.36.3", "v1.35", status(health.Starting, health.Ready), "v1.36.3 v1.36.3  [--emulated-version=1.35] [--emulated-version=1.35]"},
		{"v1.36.3", "v1.35", status(health.Ready, health.Ready), "v1.36.3 v1.36.3 v1.35 [--emulated-version=1.35] [--emulated-version=1.35]"},
		{"v1.35.4", "", status(health.Starting, health.Ready), "v1.36.3 v1.36.3 v1.35 [] [--emulated-version=1.35]"},
		{"v1.35.4", "", status(health.Ready, health.Ready), "v1.35.4 v1.36.3 v1.35 [] [--emulated-version=1.35]"},
		{"v1.35.4", "", status(health.Ready, health.Starting), "v1.35.4 v1.36.3 v1.35 [] []"},
		{"v1.35.4", "", status(health.Ready, health.Ready), "v1.35.4 v1.35.4  [] []"},
	} {
		cp.Spec.Version, cp.Spec.EmulatedVersion = step.version, step.emulated
		for _, running := range []string{cp.Status.Version, cp.Status.APIServerVersion} {
			from, errFrom := release.ParseVersion(running)
			to, errTo := release.ParseVersion(step.version)
			if err := errors.Join(errFrom, errTo, mayRun(from, to, cp.Status.EmulatedVersion)); err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		managers := managerVersion(cp)
		d := Description{Version: cp.Spec.Version, EmulatedVersion: cp.Spec.Emulates(), ManagerVersion: managers}
		advance(cp, managers, step.status)
		got := fmt.Sprintln(cp.Status.APIServerVersion, cp.Status.Version, cp.Status.EmulatedVersion, d.emulation(d.Version), d.emulation(managers))
		if diff := cmp.Diff(step.want+"\n", got); diff != "" {
			t.Errorf("%d: -want +got:\n%s", n, diff)
		}
	}
}

// TestEmulation: a manager that is older than the API server emulates nothing.
func TestEmulation(t *testing.T) {
	for _, c := range []struct {
		d          Description
		of         string
		wantedFlag bool
	}{
		{Description{Version: "v1.36.3"}, "v1.36.3", false},
		{Description{Version: "v1.36.3"}, "v1.35.4", false},
		{Description{Version: "v1.36.3", EmulatedVersion: "v1.35"}, "v1.35.4", false},
		{Description{Version: "v1.35.4"}, "v1.36.3", true},
	} {
		if got := c.d.emulation(c.of); (len(got) > 0) != c.wantedFlag {
			t.Errorf("%s of %+v: %v", c.of, c.d, got)
		}
	}
}
