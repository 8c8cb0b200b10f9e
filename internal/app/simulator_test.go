//go:build linux

package app

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// TestDescribeSimulator: it is confined, calls nothing, and its restart is not what a renewed certificate brings.
func TestDescribeSimulator(t *testing.T) {
	place := supervise.Place{Dir: "/data/run/workloads/simulator", Port: map[string]int{simulatorPort: 20001, simulatorHealth: 20002}}
	got := describeSimulator("/bin/kqueen", place, pki.Bundle{"server.crt": []byte("certificate"), "server.key": []byte("key"), "ca.key": []byte("not for it")}, []byte("secret"))
	if !got.Confined || got.Reach == nil || len(got.Reach) != 0 {
		t.Errorf("it may call: %+v", got)
	}
	want := supervise.Workload{
		ID: "simulator", Confined: true, Reach: []netip.AddrPort{}, Limits: simulatorLimits,
		Files: map[string]supervise.File{"server.crt": {Data: []byte("certificate")}, "server.key": {Data: []byte("key")}, "secret": {Data: []byte("secret")}},
		Components: []supervise.Component{{
			Name: "simulator", Path: "/bin/kqueen", Build: simulatorBuild, RestartOn: []string{"secret"}, Ports: []string{simulatorPort, simulatorHealth},
			Args: []string{
				"simulator", "--listen", "127.0.0.1:20001", "--certificate", place.Dir + "/server.crt", "--key-file", place.Dir + "/server.key",
				"--secret-file", place.Dir + "/secret", "--health", "127.0.0.1:20002",
			},
			Probe: &supervise.Probe{URL: "http://127.0.0.1:20002/healthz"}, StopGrace: got.Components[0].StopGrace,
		}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(supervise.File{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSimulationOpens: exactly the address that it serves at is open to adopted clusters, and none as long as it does not serve.
func TestSimulationOpens(t *testing.T) {
	s := &simulation{}
	at := netip.MustParseAddrPort("127.0.0.1:20001")
	if s.opens(at) || s.opens(netip.AddrPort{}) {
		t.Error("an address is open that nothing serves")
	}
	s.at.Store(&at)
	for target, want := range map[string]bool{"127.0.0.1:20001": true, "127.0.0.1:20002": false, "127.0.0.2:20001": false, "[::1]:20001": false} {
		if got := s.opens(netip.MustParseAddrPort(target)); got != want {
			t.Errorf("%s: open is %v", target, got)
		}
	}
}
