// Package process runs control planes as processes of this host, which outlive KQueen. It says in the terms of package
// supervise what a portable description means here: a program is a file of a release, a port is one of the host's, a
// file lies in the workload's directory.
//
// It hides nothing but that translation. Package app and tests that run control planes may import it.
package process

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/supervise"
)

// Programs finds a program on this host.
type Programs func(runner.Program) (Program, error)

// Program is a program on this host.
type Program struct {
	// Path is absolute, and Build what it is wherever it lies, as [supervise.Component] has it.
	Path, Build string
	// HandsOver says that it does what [runner.HandOver] means. Where it does not, the one before it is ended first.
	HandsOver bool
}

// Installed finds the programs of Kubernetes releases.
func Installed(releases *release.Store) Programs {
	return func(p runner.Program) (Program, error) {
		version, err := release.ParseVersion(p.Version)
		if err != nil {
			return Program{}, err
		}
		binaries, _, err := releases.Lookup(version)
		if err != nil {
			return Program{}, err
		}
		found := Program{Path: binaries.Path(p.Name), HandsOver: binaries.HandsOver}
		if found.Path == "" {
			return Program{}, errors.New("it is not on this machine")
		}
		if sum := binaries.Components[p.Name].SHA256; sum != "" {
			found.Build = p.Name + " " + p.Version + " sha256:" + sum
		}
		return found, nil
	}
}

// Runner runs workloads as processes. Make it with New.
type Runner struct {
	supervisor *supervise.Supervisor
	programs   Programs
}

var _ runner.Runner = (*Runner)(nil)

// New returns the runner that hands its workloads to a supervisor. It keeps nothing itself.
func New(s *supervise.Supervisor, programs Programs) *Runner { return &Runner{s, programs} }

// Reserve implements [runner.Runner].
func (r *Runner) Reserve(ctx context.Context, id string, ports []runner.Port) (runner.Place, error) {
	place, err := r.reserve(ctx, id, ports)
	if err != nil {
		return nil, err
	}
	out := runner.Place{}
	for _, p := range ports {
		end := runner.Endpoint{Inside: inside(place, p)}
		if p.Public {
			end.Outside = netip.AddrPortFrom(place.Addr, end.Inside.Port())
		}
		out[p.Name] = end
	}
	return out, nil
}

func (r *Runner) reserve(ctx context.Context, id string, ports []runner.Port) (supervise.Place, error) {
	if err := runner.CheckName("id", id); err != nil {
		return supervise.Place{}, err
	}
	if err := runner.CheckPorts(ports); err != nil {
		return supervise.Place{}, err
	}
	names := make([]string, 0, len(ports))
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return r.supervisor.Reserve(ctx, id, names)
}

// reserveOwn gives each process that can be replaced while it runs a port of its own.
func (r *Runner) reserveOwn(ctx context.Context, w runner.Workload, place supervise.Place) (supervise.Place, error) {
	var names []string
	for _, c := range w.Components {
		program, err := find(r.programs, c.Program)
		if err != nil {
			return supervise.Place{}, err
		}
		if c.HandOver != nil && program.HandsOver {
			names = append(names, ownPort(c, program, w.Files))
		}
	}
	if len(names) == 0 {
		return place, nil
	}
	place, err := r.supervisor.Reserve(ctx, w.ID, names)
	if err != nil {
		return supervise.Place{}, fmt.Errorf("reserve ports: %w", err)
	}
	return place, nil
}

// Apply implements [runner.Runner].
func (r *Runner) Apply(ctx context.Context, w runner.Workload) error {
	if err := w.Validate(); err != nil {
		return err
	}
	place, err := r.reserve(ctx, w.ID, w.Ports)
	if err != nil {
		return fmt.Errorf("reserve ports: %w", err)
	}
	if place, err = r.reserveOwn(ctx, w, place); err != nil {
		return err
	}
	described, err := Describe(w, place, r.programs)
	if err != nil {
		return err
	}
	return r.supervisor.Apply(ctx, described)
}

// Status implements [runner.Runner].
func (r *Runner) Status(ctx context.Context, id string) (health.Status, error) {
	status, err := r.supervisor.Status(ctx, id)
	return status.Health(), err
}

// Remove implements [runner.Runner].
func (r *Runner) Remove(ctx context.Context, id string, grace time.Duration) (bool, error) {
	return r.supervisor.Remove(ctx, id, grace)
}

func find(programs Programs, p runner.Program) (Program, error) {
	found, err := programs(p)
	if err != nil {
		return Program{}, fmt.Errorf("find the program %s %s: %w", p.Name, p.Version, err)
	}
	return found, nil
}

// Describe says what runs on a host for a workload whose ports are reserved at a place. It is pure. Arguments are part
// of a process's identity: to write them in another way restarts every control plane when KQueen is upgraded.
func Describe(w runner.Workload, at supervise.Place, programs Programs) (supervise.Workload, error) {
	h := host{place: at, files: w.Files, public: map[string]bool{}}
	for _, p := range w.Ports {
		h.public[p.Name] = p.Public
	}
	out := supervise.Workload{
		ID: w.ID, Files: map[string]supervise.File{}, Confined: w.Unprivileged, Reach: w.Reaches, Limits: limits(w.Components), Score: confine.ScoreTenant,
		Subject: supervise.Subject{Name: w.Name, Cluster: w.Cluster},
	}
	out.Limits.GivesWay, out.Management = !w.Essential, w.Essential
	if w.Essential {
		out.Score = confine.ScoreKept
	}
	for name, f := range w.Files {
		data := f.Data
		if f.Template {
			text, err := runner.Expand(string(data), h.resolve)
			if err != nil {
				return supervise.Workload{}, fmt.Errorf("file %s: %w", name, err)
			}
			data = []byte(text)
		}
		out.Files[name] = supervise.File{Data: data} // all of them are for the user of the programs alone
	}
	for _, c := range w.Components {
		component, err := h.component(c, programs)
		if err != nil {
			return supervise.Workload{}, fmt.Errorf("component %s: %w", c.Name, err)
		}
		out.Components = append(out.Components, component)
	}
	return out, nil
}

// tasksEach is how many threads and processes a program may have: a Go program of upstream has some dozens.
const tasksEach = 1024

// limits are what the programs of a workload take together. What can be replaced while it runs takes for a while what two take that have
// just begun. What each asks for in thousandths of a processor adds up to
// their share while all processors are busy: a hundred are as much as a usual process gets. It is pure.
func limits(components []runner.Component) confine.Limits {
	var l confine.Limits
	unlimited := false
	for _, c := range components {
		l.Memory += c.Resources.Limits.Memory
		if c.HandOver != nil {
			l.Memory += c.Resources.Requests.Memory
			l.Tasks += tasksEach
		}
		unlimited = unlimited || c.Resources.Limits.Memory == 0
		l.Weight += int(c.Resources.Requests.MilliCPU)
		l.Tasks += tasksEach
	}
	if unlimited {
		l.Memory = 0
	}
	return l
}

// host is where the references of one workload lead.
type host struct {
	place  supervise.Place
	files  map[string]runner.File
	public map[string]bool
}

func (h host) component(c runner.Component, programs Programs) (supervise.Component, error) {
	program, err := find(programs, c.Program)
	if err != nil {
		return supervise.Component{}, err
	}
	out := supervise.Component{
		Name: c.Name, Path: program.Path, Build: program.Build, Env: c.Env, After: c.After, RestartOn: c.RestartOn, Ports: c.Ports,
		Writes: c.Writes, Heavy: c.Heavy, LatencySensitive: c.LatencySensitive, StopGrace: c.StopGrace, Probe: h.probe(c.Probe),
	}
	if c.HandOver != nil && program.HandsOver {
		if err := h.handOver(c, program, &out); err != nil {
			return supervise.Component{}, err
		}
	}
	for _, a := range c.Args {
		arg, err := runner.Expand(a, h.resolve)
		if err != nil {
			return supervise.Component{}, err
		}
		out.Args = append(out.Args, arg)
	}
	return out, nil
}

func (h host) probe(p *runner.Probe) *supervise.Probe {
	if p == nil {
		return nil
	}
	return h.probeAt(p, h.local(p.Port))
}

func (h host) probeAt(p *runner.Probe, at netip.AddrPort) *supervise.Probe {
	out := &supervise.Probe{URL: "http://" + at.String() + p.Path}
	if p.TLS != nil {
		out = &supervise.Probe{
			URL: "https://" + at.String() + p.Path, CAFile: p.TLS.CA, CertFile: p.TLS.Cert, KeyFile: p.TLS.Key,
		}
	}
	return out
}

func (h host) resolve(r runner.Reference) (string, error) {
	if r.Kind == runner.KindFile {
		return filepath.Join(h.place.Dir, r.Name), nil
	}
	local := h.local(r.Name)
	switch r.Kind {
	case runner.KindPort:
		return strconv.Itoa(int(local.Port())), nil
	case runner.KindLocal:
		return local.String(), nil
	case runner.KindBind:
		if h.public[r.Name] {
			return h.place.Addr.String(), nil
		}
		return local.Addr().String(), nil
	}
	return "", invalid.New("reference", "%s is not known to this runner", r)
}

func (h host) local(port string) netip.AddrPort {
	return inside(h.place, runner.Port{Name: port, Public: h.public[port]})
}

// inside is where programs of this host reach a port. What is not public is reached from this host alone.
func inside(place supervise.Place, p runner.Port) netip.AddrPort {
	addr := place.Addr
	if !p.Public || addr.IsUnspecified() {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(addr, uint16(place.Port[p.Name]))
}
