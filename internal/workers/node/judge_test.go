package node

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestJudge(t *testing.T) {
	ready := health.Component{Name: "machine", State: health.Ready}
	cases := map[string]struct {
		status []health.Component
		want   machine.Observed
	}{
		"all ready":         {[]health.Component{ready}, machine.Observed{State: machine.Running, Message: "all programs of the machine run"}},
		"nothing described": {nil, machine.Observed{State: machine.Creating, Message: "waiting for the programs to start"}},
		"starting": {[]health.Component{ready, {Name: "kubelet", State: health.Starting}},
			machine.Observed{State: machine.Creating, Message: "waiting for kubelet"}},
		"crashed once": {[]health.Component{ready, {Name: "kubelet", State: health.Starting, LastExit: &health.Exit{Signal: "killed"}}},
			machine.Observed{State: machine.Failing, Message: "kubelet was ended by signal: killed and is being restarted"}},
		"does not answer": {[]health.Component{{Name: "kubelet", State: health.NotReady, Message: "timeout"}},
			machine.Observed{State: machine.Failing, Message: "kubelet does not answer: timeout"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Judge(health.Status{Components: c.status}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
