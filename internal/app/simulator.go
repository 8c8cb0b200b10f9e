//go:build linux

package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// workloadSimulator is what serves the simulated clusters of an installation that is for demonstrations.
const workloadSimulator = "simulator"

const (
	// simulatorBuild is raised for one that an upgrade has to replace.
	simulatorBuild = "simulator 1"
	// Its ports, which stay the same: kubeconfigs hold the first one.
	simulatorPort, simulatorHealth = "api", "health"
	// simulatorRenewal is the time between two looks at its certificate.
	simulatorRenewal = time.Hour
	// simulatorAuthority and simulatorLeaf are how long its certificates live.
	simulatorAuthority, simulatorLeaf = 10 * 365 * 24 * time.Hour, 365 * 24 * time.Hour
)

// simulatorLimits keep callers without a token, of which each process of this host may be one, from more than this of the host.
var simulatorLimits = confine.Limits{Memory: 256 << 20, Weight: 50, Tasks: 256}

// simulation has the supervisor run the simulated clusters, in an installation that is for demonstrations and no other.
type simulation struct {
	a  *App
	mu sync.Mutex // held while it is started
	// at is where it serves; nil as long as it does not.
	at atomic.Pointer[netip.AddrPort]
}

// opens says whether an address is that of the simulator, which adopted clusters may be at although it is on this host: exactly that
// port, and only while it is what KQueen has reserved the port for.
func (s *simulation) opens(target netip.AddrPort) bool {
	at := s.at.Load()
	return at != nil && *at == target
}

// Begin makes this an installation for demonstrations, which it stays, and returns how its simulated clusters are adopted.
func (s *simulation) Begin(ctx context.Context) (*simulator.Access, error) {
	if err := (ledger{s.a}).remember(func(of *settings) { of.Demo = true }); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// wanted says whether this is an installation for demonstrations.
func (s *simulation) wanted() bool {
	s.a.remembering.Lock()
	defer s.a.remembering.Unlock()
	return s.a.settings.Demo
}

// resume starts it where it is wanted. An installation whose simulator fails is as good as before, but for what is simulated.
func (s *simulation) resume(ctx context.Context) error {
	if !s.wanted() {
		return nil
	}
	return stage.Run(ctx, s.a.Report, "Simulated clusters", func(ctx context.Context) error {
		_, err := s.run(ctx)
		s.a.problems.note(workloadSimulator, err)
		return ctx.Err()
	})
}

// keep renews its certificate until ctx ends, and tries again where it could not be started.
func (s *simulation) keep(ctx context.Context) error {
	look := time.NewTicker(pki.LookAgain(simulatorRenewal))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		if !s.wanted() {
			continue
		}
		_, err := s.run(ctx)
		if ctx.Err() == nil {
			s.a.problems.note(workloadSimulator, err)
		}
	}
}

// run has the process run, waits until it does, and returns how its clusters are adopted. One that runs goes on.
func (s *simulation) run(ctx context.Context) (*simulator.Access, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, err := s.a.supervisor.Reserve(ctx, workloadSimulator, []string{simulatorPort, simulatorHealth})
	if err != nil {
		return nil, fmt.Errorf("reserve the ports of the simulator: %w", err)
	}
	keys, secret, err := s.secrets()
	if err != nil {
		return nil, err
	}
	if err := s.a.supervisor.Apply(ctx, describeSimulator(s.a.Program, place, keys, secret)); err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	if err := supervise.Await(ctx, s.a.supervisor, workloadSimulator, s.a.notices.awaited[workloadSimulator]); err != nil {
		return nil, err
	}
	at := netip.AddrPortFrom(simulatorAddr, uint16(place.Port[simulatorPort]))
	s.at.Store(&at)
	return simulator.AccessTo("https://"+at.String(), keys["ca.crt"], secret), nil
}

// simulatorAddr is where it serves: no other host has a use for it.
var simulatorAddr = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// secrets are its certificates and what its tokens are made of. They are kept in the data directory, so that clusters that were adopted
// stay so.
func (s *simulation) secrets() (pki.Bundle, []byte, error) {
	folder := filepath.Join(s.a.Dir, "keys")
	keys, err := pki.IssueFile(filepath.Join(folder, workloadSimulator+".json"), simulatorKeys(), nil, pki.Forgetful{})
	var secret []byte
	if err == nil {
		secret, err = pki.SecretKey(filepath.Join(folder, workloadSimulator+".key"), pki.Forgetful{})
	}
	if damage, ok := errors.AsType[*atomicfile.DamagedError](err); ok {
		return nil, nil, fmt.Errorf("%w; delete that file, and adopt the simulated clusters again with: kqueen up --demo", damage)
	}
	return keys, secret, err
}

func simulatorKeys() pki.Set {
	return pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "simulator-ca", Lifetime: simulatorAuthority}},
		Leaves: []pki.Leaf{{
			Name: "server", Authority: "ca", CommonName: "kqueen-simulator", Usage: pki.Server, DNSNames: []string{"localhost"}, IPs: []netip.Addr{simulatorAddr},
			Lifetime: simulatorLeaf,
		}},
	}
}

// describeSimulator is pure. The process reads its files, answers at its ports, and calls nothing.
func describeSimulator(program string, place supervise.Place, keys pki.Bundle, secret []byte) supervise.Workload {
	file := func(name string) string { return filepath.Join(place.Dir, name) }
	at := func(port string) string {
		return net.JoinHostPort(simulatorAddr.String(), strconv.Itoa(place.Port[port]))
	}
	p := simulator.Process{
		Listen: at(simulatorPort), Health: at(simulatorHealth), Certificate: file("server.crt"), Key: file("server.key"), Secret: file("secret"),
	}
	return supervise.Workload{
		ID: workloadSimulator, Confined: true, Reach: []netip.AddrPort{}, Limits: simulatorLimits,
		Files: map[string]supervise.File{"server.crt": {Data: keys["server.crt"]}, "server.key": {Data: keys["server.key"]}, "secret": {Data: secret}},
		Components: []supervise.Component{{
			Name: workloadSimulator, Path: program, Build: simulatorBuild, Args: append([]string{"simulator"}, p.Args()...),
			RestartOn: []string{"secret"}, Ports: []string{simulatorPort, simulatorHealth},
			Probe: &supervise.Probe{URL: "http://" + p.Health + "/healthz"}, StopGrace: time.Second,
		}},
	}
}
