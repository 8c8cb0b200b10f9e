//go:build linux

package local

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/release/releasetest"
	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
)

func newRunner(t *testing.T) *supervise.Supervisor {
	t.Helper()
	runner, err := supervise.New(supervise.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return runner
}

// able are the facts of a host that can run machines.
func able() facts {
	return facts{root: true, proxyMode: "nftables", size: machine.Size{MilliCPU: 2000, Memory: 4 << 30}}
}

// provider is one on such a host, with the programs that are in a store.
func provider(t *testing.T, store string) *Provider {
	t.Helper()
	return &Provider{
		Config: Config{
			Runner: newRunner(t), Releases: release.NewStore(store), Program: "/usr/bin/kqueen",
			Range: netip.MustParsePrefix("10.222.0.0/16"), Listen: netip.MustParseAddr("127.0.0.1"),
			InUse: func() ([]netip.Prefix, error) { return nil, nil },
		},
		facts: able(), limits: func() hostcheck.Readings { return nil }, records: Machines{}, try: func(context.Context, guest.IDs) error { return nil },
	}
}

func wanted() machine.Desired {
	return machine.Desired{Target: machine.Target{Ref: machine.Ref{UID: "m1", Cluster: "c1", Name: "pool-a"}}, Version: "v1.36.3"}
}

// TestEnsureRefuses: what a host cannot do is said with what helps, and nothing of the machine begins.
func TestEnsureRefuses(t *testing.T) {
	store := releasetest.Store(t, "v1.36.3") // without containerd
	for name, c := range map[string]struct {
		change func(*Provider, *machine.Desired)
		field  string // of an invalid.Error; empty: it is machine.ErrUnsupported
		want   string
	}{
		"not root":          {func(p *Provider, _ *machine.Desired) { p.facts.root = false }, "", "start it as root, or join machines of your own to a pool of the provider manual"},
		"no tools":          {func(p *Provider, _ *machine.Desired) { p.facts.proxyMode = "" }, "", "install one of the packages nftables and iptables"},
		"no containerd":     {func(*Provider, *machine.Desired) {}, "", "build them with: kqueen release build"},
		"parameters":        {func(_ *Provider, d *machine.Desired) { d.Parameters = []byte(`{"disk": 1}`) }, "spec.template.parameters.disk", "takes no parameters"},
		"processors":        {func(_ *Provider, d *machine.Desired) { d.Size.MilliCPU = 2001 }, "spec.resources.cpu", "choose at most 2"},
		"no version":        {func(_ *Provider, d *machine.Desired) { d.Version = "latest" }, "spec.version", "write it like v1.36.3"},
		"version not there": {func(_ *Provider, d *machine.Desired) { d.Version = "v1.35.1" }, "spec.version", "the programs of v1.35.1 are not on this machine; see: kqueen release list"},
	} {
		t.Run(name, func(t *testing.T) {
			p, want := provider(t, store), wanted()
			c.change(p, &want)
			observed, err := p.Ensure(t.Context(), want)
			if err == nil || !strings.Contains(err.Error(), c.want) || observed != (machine.Observed{}) {
				t.Errorf("got %+v, %v; want %q", observed, err, c.want)
			}
			bad, ok := errors.AsType[*invalid.Error](err)
			if c.field == "" && !errors.Is(err, machine.ErrUnsupported) || c.field != "" && (!ok || bad.Field != c.field) {
				t.Errorf("got %v, want it about %q", err, c.field)
			}
			begun, err := p.Runner.List(t.Context())
			kept, errKept := p.List(t.Context())
			if err := errors.Join(err, errKept); err != nil || len(begun) > 0 || len(kept) > 0 {
				t.Errorf("begun are %v, kept %v, %v", begun, kept, err)
			}
		})
	}
}

// TestEnsureWithDamagedPrograms: a machine whose node runs is no host that cannot run machines because its kubelet is
// damaged on disk. The damage is told with what helps, and is looked at again like every failure.
func TestEnsureWithDamagedPrograms(t *testing.T) {
	store := releasetest.Built(t, "v1.36.3")
	manifest := filepath.Join(store, "kubelet-v1.36.3", "release.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(manifest), 0o700), os.WriteFile(manifest, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := provider(t, store).Ensure(t.Context(), wanted())
	if !errors.Is(err, release.ErrDamaged) || errors.Is(err, machine.ErrUnsupported) || !strings.HasSuffix(err.Error(), "; build it again with: kqueen release build") {
		t.Errorf("got %v", err)
	}
}

// TestEnsureWaitsForTheBuild: as long as the programs of nodes are being built a machine waits, and has no address yet.
func TestEnsureWaitsForTheBuild(t *testing.T) {
	store := releasetest.Store(t, "v1.36.3")
	p := provider(t, store)
	lock, err := os.Create(filepath.Join(store, ".node.lock")) // as the process has that builds
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	observed, err := p.Ensure(t.Context(), wanted())
	// Nothing of it runs: what its node said before KQueen began does not count.
	want := machine.Observed{State: machine.Preparing, Message: "waiting for the programs of nodes, which are being built: begin", LifeBegan: p.began}
	if err != nil || observed != want {
		t.Errorf("got %+v, %v; want %+v", observed, err, want)
	}
	if kept, err := p.List(t.Context()); err != nil || len(kept) > 0 {
		t.Errorf("kept are %v, %v", kept, err)
	}
}

// TestEnsureWhileTheBuildEnds: programs that were not there yet when they were looked for, and whose build has ended a
// moment later, are waited for as before. Otherwise the machine asks for a build that is done, and is not looked at for a
// minute.
func TestEnsureWhileTheBuildEnds(t *testing.T) {
	store := releasetest.Built(t, "v1.36.3")
	p := provider(t, store)
	lock, err := os.Create(filepath.Join(store, ".node.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	// A read from a pipe waits for what is written: so the build ends in the middle of the look.
	pipe := filepath.Join(store, "kubelet-v1.36.3", "release.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(pipe), 0o700), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(lock.Close(), writer.Close())
		}
		ended <- err
	}()
	observed, err := p.Ensure(t.Context(), wanted())
	if err != nil || observed.State != machine.Preparing {
		t.Fatalf("got %+v, %v", observed, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRecordOfAnUpgradedHost: a machine goes on with the program that it was made with, since another path would end its
// pods; only where that is gone it gets the one of today. Its containerd is never another one.
func TestRecordOfAnUpgradedHost(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	store := releasetest.Store(t, "v1.36.3")
	for name, c := range map[string]struct{ program, want string }{
		"still there": {self, self},
		"gone":        {filepath.Join(t.TempDir(), "kqueen-of-old"), "/usr/bin/kqueen"},
	} {
		p := provider(t, store)
		kept := record{Cluster: "c1", Address: netip.MustParsePrefix("10.222.7.2/24"), Parts: filepath.Join(t.TempDir(), "node-v2"), Program: c.program, Isolation: machine.IsolationOwnRoot}
		p.records["m1"] = kept
		got, err := p.recordOf(t.Context(), wanted())
		kept.Program = c.want
		if err != nil || got != kept {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, kept)
		}
		if _, err := p.Ensure(t.Context(), wanted()); err == nil || !strings.HasSuffix(err.Error(), "are no longer in "+kept.Parts) {
			t.Errorf("%s: a machine whose containerd is gone: %v", name, err)
		}
	}
}

// TestDeleteOfNoMachine: what never was a machine is gone, also where KQueen may not look for what machines leave.
func TestDeleteOfNoMachine(t *testing.T) {
	for name, c := range map[string]struct {
		facts   facts
		cluster types.UID
	}{"not root": {facts{}, "c1"}, "no cluster": {able(), ""}} {
		p := &Provider{Config: Config{Runner: newRunner(t)}, facts: c.facts, records: Machines{}}
		gone, err := p.Delete(t.Context(), machine.Target{Ref: machine.Ref{UID: "m1", Cluster: c.cluster}})
		if !gone || err != nil {
			t.Errorf("%s: %v, %v", name, gone, err)
		}
	}
}

// TestFind: machines are found by the file in their directories, control planes beside them are none, and a file that is
// damaged is named rather than its machine forgotten.
func TestFind(t *testing.T) {
	runner := newRunner(t)
	keep := func(id, content string) {
		t.Helper()
		place, err := runner.Reserve(t.Context(), id, nil)
		if err == nil && content != "" {
			err = os.WriteFile(filepath.Join(place.Dir, recordFile), []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	keep("plane", "")
	keep("m1", `{"cluster": "c1", "address": "10.222.7.2/24", "parts": "/parts", "program": "/usr/bin/kqueen"}`)
	found, err := Find(t.Context(), runner)
	want := record{Cluster: "c1", Address: netip.MustParsePrefix("10.222.7.2/24"), Parts: "/parts", Program: "/usr/bin/kqueen"}
	if err != nil || len(found) != 1 || found["m1"] != want || !found.Has("m1") || found.Has("plane") {
		t.Errorf("found %+v, %v", found, err)
	}
	keep("m2", `{"cluster": "c1", "addr`)
	found, err = Find(t.Context(), runner)
	if err != nil || len(found) != 2 || found["m1"] != want || !found.Has("m2") {
		t.Errorf("with a damaged file: found %v, %v", found, err)
	}
	if err := found["m2"].damage; err == nil || !strings.Contains(err.Error(), "m2") {
		t.Errorf("the damage is %v, want the machine's name in it", err)
	}
}
