//go:build linux

// Package local makes machines on the host of KQueen: each is a set of namespaces of its own (users, processes,
// mounts, network, host name) and a file system of its own with upstream's containerd, kubelet and kube-proxy in it, run by
// the supervisor, so that a machine survives KQueen and is found again.
//
// It hides namespaces, addresses and the configuration of those programs. Its state is one file in each
// machine's directory. What runs inside is package guest.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

// Config is what the provider is made of. All fields but Pause are required.
type Config struct {
	Runner   *supervise.Supervisor
	Releases *release.Store
	// Program is the path of kqueen itself, which is process 1 of each machine.
	Program string
	// Range is cut into a subnet of 254 machines for each cluster.
	Range netip.Prefix
	// Listen is where API servers listen on this host. When that is a loopback address, machines cannot reach
	// it, and their process 1 carries their calls.
	Listen netip.Addr
	// HostPorts are the ports of the host that machines may call when Listen is no loopback address.
	HostPorts guest.PortRange
	// Images is a folder of the host. What archives of images (*.tar) are in it, each machine imports when its
	// kubelet starts.
	Images string
	// InUse returns the host's own networks, which no subnet may overlap.
	InUse func() ([]netip.Prefix, error)
	// Pause is the image that holds the namespaces of pods, which containerd pulls; empty for the one that comes with
	// the machine.
	Pause string
}

// Provider makes machines on this host.
type Provider struct {
	Config
	facts facts
	began time.Time
	// limits reads the host's settings.
	limits func() hostcheck.Readings
	// try finds out whether a machine with users of its own can be made here.
	try func(ctx context.Context, ids guest.IDs) error

	mu      sync.Mutex
	records Machines
}

var (
	_ machine.Provider = (*Provider)(nil)
	_ machine.Possible = (*Provider)(nil)
)

// New finds the machines that there are.
func New(ctx context.Context, c Config) (*Provider, error) {
	records, err := Find(ctx, c.Runner)
	if err != nil {
		return nil, err
	}
	facts, err := look()
	if err != nil {
		return nil, err
	}
	p := &Provider{Config: c, facts: facts, began: time.Now(), limits: hostcheck.ReadLimits, records: records}
	p.try = p.tryUsers
	return p, nil
}

// Describe implements [machine.Provider].
func (p *Provider) Describe() machine.Description {
	return machine.Description{
		Name:             v1alpha1.ProviderLocal,
		Summary:          "Machines on the host of KQueen, each in namespaces of its own.",
		ParametersSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Routed:           true,
	}
}

// Possible implements [machine.Possible].
func (p *Provider) Possible(s machine.Size) error {
	if err := p.facts.check(); err != nil {
		return err
	}
	return p.facts.fits(s)
}

// HostSize is what a machine has that is not bounded.
func (p *Provider) HostSize() machine.Size { return p.facts.size }

// Ensure implements [machine.Provider].
func (p *Provider) Ensure(ctx context.Context, want machine.Desired) (machine.Observed, error) {
	if err := p.check(want); err != nil {
		return machine.Observed{}, err
	}
	// Before the programs are looked for: a build that ends meanwhile has to count as one that goes on.
	step, building := p.Releases.NodeBuild()
	binaries, err := p.binariesOf(want.Version)
	if err != nil {
		return machine.Observed{}, err
	}
	if !binaries.HasNode() {
		return p.awaiting(ctx, want.UID, step, building, binaries.NodeDamage)
	}
	r, err := p.recordOf(ctx, want)
	if errors.Is(err, errNotBuilt) {
		return p.awaiting(ctx, want.UID, step, building, nil)
	}
	if errors.Is(err, errLost) {
		return machine.Observed{State: machine.Lost, Message: err.Error(), ProviderID: machine.ProviderID(v1alpha1.ProviderLocal, want.UID), LifeBegan: p.began}, nil
	}
	if err != nil {
		return machine.Observed{}, err
	}
	place, err := p.Runner.Reserve(ctx, string(want.UID), nil)
	if err != nil {
		return machine.Observed{}, fmt.Errorf("reserve the machine's directory: %w", err)
	}
	parts, err := p.parts(r)
	if err != nil {
		return machine.Observed{}, err
	}
	if err := p.makeFolders(); err != nil {
		return machine.Observed{}, err
	}
	// A machine is of use without them; where they are damaged, the status of addons says so.
	addons, _, _ := p.Releases.LookupAddonImages()
	trusted, err := trustedBy(place.Dir, want.Cluster.CA)
	if err != nil {
		return machine.Observed{}, err
	}
	workload, err := describe(description{
		Desired: want, record: r, facts: p.facts, dir: place.Dir, parts: parts, binaries: binaries, images: p.Images,
		addonsDir: p.Releases.AddonsDir(), addons: addons,
		trusted: trusted, listen: p.Listen, hostPorts: p.HostPorts, pauseImage: p.Pause,
	})
	if err != nil {
		return machine.Observed{}, err
	}
	status, err := p.run(ctx, workload, want.Asleep)
	if err != nil {
		return machine.Observed{}, err
	}
	observed := judge(status.Health(), trusted)
	if want.Asleep && len(status.Health().Components) == 0 {
		observed = machine.Observed{State: machine.Asleep}
	}
	observed.ProviderID = machine.ProviderID(v1alpha1.ProviderLocal, want.UID)
	observed.Address = r.Address.Addr()
	observed.LifeBegan = lifeBegan(status.Health(), p.began)
	observed.Isolation, observed.IsolationMessage = r.Isolation, r.Reason
	return p.explain(observed), nil
}

// run has a machine run, or nothing of it while it sleeps, and says what runs of it.
func (p *Provider) run(ctx context.Context, workload supervise.Workload, asleep bool) (supervise.Status, error) {
	if asleep {
		workload.Components = nil // its files stay
	}
	if err := p.Runner.Apply(ctx, workload); err != nil {
		return supervise.Status{}, fmt.Errorf("start the machine: %w", err)
	}
	status, err := p.Runner.Status(ctx, workload.ID)
	if err != nil {
		return supervise.Status{}, fmt.Errorf("look at the machine: %w", err)
	}
	return status, nil
}

// check refuses what can be on no host, or not on this one.
func (p *Provider) check(want machine.Desired) error {
	if err := p.facts.check(); err != nil {
		return err
	}
	if err := machine.NoParameters(v1alpha1.ProviderLocal, want.Parameters); err != nil {
		return err
	}
	return p.facts.fits(want.Size)
}

// errLost says that there is nothing of a machine that has joined.
var errLost = errors.New("nothing of the machine is on this host")

// makeFolders makes those that machines are shown: a machine shows a folder as it was when it began, so that it has to be there.
func (p *Provider) makeFolders() error {
	if err := os.MkdirAll(p.Images, 0o700); err != nil {
		return fmt.Errorf("make the folder for images: %w", err)
	}
	if err := os.MkdirAll(p.Releases.AddonsDir(), 0o755); err != nil {
		return fmt.Errorf("make the folder for the images of addons: %w", err)
	}
	return nil
}

// judge says how the programs of a machine are, and what they trust once all of them run. It is pure.
func judge(status health.Status, trusted []byte) machine.Observed {
	observed := node.Judge(status)
	if observed.State == machine.Running {
		observed.TrustHash = machine.TrustHash(trusted)
	}
	return observed
}

// recordOf returns what the machine keeps for its life, and chooses it when the machine is new. It is
// written with the machine's other files: until then no process knows of it.
func (p *Provider) recordOf(ctx context.Context, want machine.Desired) (record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.mend(want.UID); err != nil {
		return record{}, err
	}
	if r, ok := p.records[want.UID]; ok {
		// Called by another path its programs would be restarted, and that of process 1 ends all pods.
		if _, err := os.Stat(r.Program); err != nil {
			r.Program = p.Program
		}
		if r.Isolation != "" {
			return r, nil
		}
		if err := p.records.damaged(); err != nil {
			return record{}, err
		}
		// It was made by an earlier KQueen, and within it these files could be written.
		r.Program = p.Program
		return p.isolate(ctx, want.UID, r)
	}
	if err := p.records.damaged(); err != nil {
		return record{}, err
	}
	if err := p.admit(); err != nil {
		return record{}, err
	}
	parts, ok, err := p.Releases.LookupNodeParts()
	if err != nil {
		return record{}, err
	}
	if !ok {
		return record{}, errNotBuilt
	}
	if want.Token == "" { // without one it could not join
		return record{}, errLost
	}
	used, err := p.InUse()
	if err != nil {
		return record{}, fmt.Errorf("list the host's networks: %w", err)
	}
	used = append(used, want.Cluster.PodCIDR, want.Cluster.ServiceCIDR)
	address, err := choose(p.Range, want.Ref.Cluster, p.records, used)
	if err != nil {
		return record{}, err
	}
	r := record{Cluster: want.Ref.Cluster, Address: address, Parts: parts.Dir, Program: p.Program, Masquerades: true}
	return p.isolate(ctx, want.UID, r)
}

// mend takes the record of a machine that was damaged, once its file is good again.
func (p *Provider) mend(id types.UID) error {
	damage := p.records[id].damage
	if damage == nil {
		return nil
	}
	found, err := readRecord(filepath.Join(p.Runner.Dir(string(id)), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return damage
	}
	if err == nil {
		p.records[id] = found
	}
	return err
}

// removeGrace is for a machine that cannot end by itself, such as one that hangs.
const removeGrace = 10 * time.Second

// Delete implements [machine.Provider]. The machine is switched off at once: its pods have left, or are given up.
func (p *Provider) Delete(ctx context.Context, of machine.Target) (bool, error) {
	ref := of.Ref
	// It ends at once when it is asked to; killed, it would leave what runs in it to the kernel to end, and us to wait for.
	gone, err := p.Runner.Remove(ctx, string(ref.UID), removeGrace)
	if err != nil || !gone {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r, known := p.records[ref.UID]
	if known && r.damage == nil {
		ref.Cluster = r.Cluster
	}
	if ref.Cluster == "" && r.damage == nil || !p.facts.root { // never was a machine: it has left nothing on the host
		return true, nil
	}
	if err := leaveHost(ctx, ref.UID); err != nil {
		return false, err
	}
	delete(p.records, ref.UID)
	for _, r := range p.records {
		if r.Cluster == ref.Cluster {
			return true, nil
		}
	}
	// Still under the lock: a first machine that came now would make the bridge that goes here.
	if err := guest.RemoveBridge(bridgeOf(ref.Cluster)); err != nil {
		return false, err
	}
	return true, nil
}

// List implements [machine.Provider].
func (p *Provider) List(context.Context) ([]types.UID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []types.UID
	for id := range p.records {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}
