package supervise

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperMark); dir != "" {
		os.Exit(helper(dir))
	}
	os.Exit(programtest.Main(m))
}

// addresses counts the supervisors of this test process.
var addresses atomic.Uint32

// freePorts is a range of n ports that no program of this host listens at, outside of those that supervisors choose from.
func freePorts(t *testing.T, n int) PortRange {
	t.Helper()
	for {
		r := PortRange{First: uint16(10000 + rand.IntN(9000))}
		r.Last = r.First + uint16(n) - 1
		if r.free(t, config(t.TempDir()).Listen) {
			return r
		}
	}
}

func (r PortRange) free(t *testing.T, addr netip.Addr) bool {
	for p := r.First; p <= r.Last; p++ {
		if !portFree(t.Context(), addr, int(p)) {
			return false
		}
	}
	return true
}

// config is a configuration for tests: short times, and a loopback address of its own, so that neither two tests nor
// two test processes meet at an address.
func config(dir string) Config {
	n, pid := addresses.Add(1), os.Getpid()
	return Config{
		Dir: dir, Listen: netip.AddrFrom4([4]byte{127, byte(1 + pid>>8&0x7f), byte(pid), byte(1 + n%250)}),
		Timing: Timing{
			ProbeStarting: 10 * time.Millisecond, ProbeReady: 20 * time.Millisecond,
			BackoffFirst: 10 * time.Millisecond, BackoffMax: 40 * time.Millisecond,
		},
		Rotate: Rotation{Every: 20 * time.Millisecond},
	}
}

// open makes a supervisor and removes all its workloads when the test ends.
func open(t *testing.T, conf Config) *Supervisor {
	t.Helper()
	r, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clean(t, r) })
	return r
}

// clean removes what a supervisor runs. It does nothing when the test closed it and opened another one on the same
// directory.
func clean(t *testing.T, r *Supervisor) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	ids, err := r.List(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if gone, err := r.Remove(ctx, id, 0); (err != nil || !gone) && !errors.Is(err, ErrClosed) {
			t.Errorf("remove %s: %v, %v", id, gone, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// program describes the program of package programtest with the given flags.
func program(name string, args ...string) Component {
	return Component{Name: name, Path: programtest.Path(), Args: args, Env: programtest.Env()}
}
