package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReachableServers(t *testing.T) {
	got := ReachableServers("# made by hand\nnameserver 127.0.0.53\nsearch a.example\nnameserver 10.0.0.1\nnameserver ::1\nnameserver fd00::1\nnameserver\n")
	if diff := cmp.Diff("nameserver 10.0.0.1\nnameserver fd00::1\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ReachableServers("nameserver 127.0.0.53\n"); got != NoServers {
		t.Errorf("a host with nothing but itself gives %q; an empty file would make containerd copy the host's", got)
	}
}
