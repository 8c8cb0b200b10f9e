package node

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestJudge(t *testing.T) {
	ready := runner.ComponentStatus{Name: "machine", State: runner.StateReady}
	cases := map[string]struct {
		status []runner.ComponentStatus
		want   machine.Observed
	}{
		"all ready": {[]runner.ComponentStatus{ready}, machine.Observed{State: machine.Running, Message: "all programs of the machine run"}},
		"starting": {[]runner.ComponentStatus{ready, {Name: "kubelet", State: runner.StateStarting}},
			machine.Observed{State: machine.Creating, Message: "waiting for kubelet"}},
		"crashed once": {[]runner.ComponentStatus{ready, {Name: "kubelet", State: runner.StateStarting, LastExit: &runner.Exit{Signal: "killed"}}},
			machine.Observed{State: machine.Failing, Message: "kubelet was ended by signal: killed and is being restarted"}},
		"does not answer": {[]runner.ComponentStatus{{Name: "kubelet", State: runner.StateNotReady, Message: "timeout"}},
			machine.Observed{State: machine.Failing, Message: "kubelet does not answer: timeout"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Judge(runner.Status{Components: c.status}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
