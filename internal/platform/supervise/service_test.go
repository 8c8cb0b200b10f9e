package supervise

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

func TestSilent(t *testing.T) {
	for name, c := range map[string]struct {
		result error
		want   bool
	}{
		"an answer":                      {nil, false},
		"not ready":                      {errors.New("503: [-]etcd failed"), false},
		"nothing listens":                {&net.OpError{Op: "dial", Err: os.ErrNotExist}, false},
		"no answer in time":              {fmt.Errorf("get: %w", os.ErrDeadlineExceeded), true},
		"an answer, of half the program": {fmt.Errorf("call: %w", &absentError{"runtime.v1.RuntimeService"}), true},
	} {
		if got := silent(c.result); got != c.want {
			t.Errorf("%s: silent %t, want %t", name, got, c.want)
		}
	}
}

// TestProgramWithoutItsServiceIsRestarted: it runs and answers, and lacks what it is there for, as a containerd does that
// found no inotify instance for its CRI plugin.
func TestProgramWithoutItsServiceIsRestarted(t *testing.T) {
	t.Parallel()
	conf := hasty(t)
	conf.Timing.HangIdle, conf.Timing.HangBusy = 100*time.Millisecond, 100*time.Millisecond
	conf.Timing.ProbeTimeout = time.Second
	r := open(t, conf)
	dir := filepath.Join(conf.Dir, "workloads", "a")
	w := Workload{ID: "a", Components: []Component{{
		Name: "api", Path: programtest.Path(), Args: []string{"-grpc", "api.sock", "-without", "without"}, Env: programtest.Env(),
		Probe: &Probe{URL: "http://service/test.Service/Ask", Socket: filepath.Join(dir, "api.sock")},
	}}}
	if _, err := r.Reserve(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	lacking := filepath.Join(dir, "without")
	if err := os.WriteFile(lacking, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, r, w)
	await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.Restarts > 0 && c.LastExit != nil && c.LastExit.Hung > 0
	})
	if err := os.Remove(lacking); err != nil {
		t.Fatal(err)
	}
	awaitState(t, r, "a", "api", health.Ready)
}
