//go:build linux

package local

import (
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
)

func TestLifeBegan(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	kubelet := health.Component{Name: "kubelet", State: health.Ready, StartedAt: at(9)}
	tests := map[string]struct {
		outer health.Component
		want  time.Time
	}{
		"runs":           {health.Component{State: health.Ready, StartedAt: at(3)}, at(3)},
		"runs again":     {health.Component{State: health.Starting, StartedAt: at(5), LastExit: &health.Exit{At: at(4)}}, at(5)},
		"has ended":      {health.Component{State: health.Backoff, LastExit: &health.Exit{At: at(4)}}, at(4)},
		"was not found":  {health.Component{State: health.Waiting}, at(1)},
		"is not started": {health.Component{}, at(1)},
	}
	for name, tc := range tests {
		tc.outer.Name = componentMachine
		if got := lifeBegan(health.Status{Components: []health.Component{kubelet, tc.outer}}, at(1)); !got.Equal(tc.want) {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}
