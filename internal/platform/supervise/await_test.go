package supervise

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/health"
)

// TestGivesUp: a workload that cannot come up is not waited for, and the user is told why.
func TestGivesUp(t *testing.T) {
	cases := map[string]struct {
		etcd health.Component
		want string
	}{
		"starting":         {health.Component{State: health.Starting}, ""},
		"not answering":    {health.Component{State: health.NotReady, Restarts: tries}, ""},
		"ended twice":      {health.Component{State: health.Backoff, Restarts: tries - 1, LastExit: &health.Exit{Code: 1}}, ""},
		"ended for good":   {health.Component{State: health.Backoff, Restarts: tries, LastExit: &health.Exit{Code: 2, Log: "bad data\nbye"}}, "start etcd: it was tried 3 times, and the last time it ended with code 2; its last words are:\nbad data\nbye"},
		"killed":           {health.Component{State: health.Backoff, Restarts: tries, LastExit: &health.Exit{Code: -1, Signal: "killed", Log: "hm"}}, "start etcd: it was tried 3 times, and the last time it was ended by a signal (killed); its last words are:\nhm"},
		"no program":       {health.Component{State: health.Backoff, Reason: health.ReasonStartFailed, Restarts: tries, LastExit: &health.Exit{Code: -1, Error: "permission denied"}}, "start etcd: it was tried 3 times, and the last time it could not be started: permission denied"},
		"the port is used": {health.Component{State: health.Backoff, Reason: health.ReasonPortTaken, Message: "port 2379 is in use"}, "start etcd: port 2379 is in use; stop the program that listens there and try again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.etcd.Name = "etcd"
			text := ""
			if err := givesUp(health.Status{Components: []health.Component{{Name: "a", State: health.Ready}, c.etcd}}); err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(c.want, text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
