package join

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/links"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/node"
)

const (
	// runtimePatience bounds the time until containerd alone runs, killPatience that until killed processes are gone.
	runtimePatience = 30 * time.Second
	killPatience    = 15 * time.Second
	// rulesTimeout bounds one call of kube-proxy.
	rulesTimeout = 30 * time.Second
	// componentGrace is how long a program may take to end.
	componentGrace = 10 * time.Second
)

// Leaving takes a machine out of its cluster: nothing of the node stays on it. Each step is idempotent, and the
// record goes last, so that a second call goes on where a first one ended.
type Leaving struct {
	Place   Place
	Record  *Record
	Runner  *supervise.Supervisor // the only one that supervises the programs
	Program string                // the path of kqueen itself
}

// Step is one thing that leaving does.
type Step struct {
	Name string
	// Needless says that what comes after goes on without it: what it does well is done roughly then, or stays.
	Needless bool
	Do       func(context.Context) error
}

// Steps in their order.
func (l *Leaving) Steps() []Step {
	return []Step{
		{"Stop pods", true, l.pods},
		{"Stop programs", false, l.programs},
		{"Remove rules of Services", true, l.rules},
		{"Remove network interfaces", false, l.interfaces},
		{"Remove files", false, l.files},
	}
}

// Goes says, in words for the user, what is removed when the machine leaves.
func (l *Leaving) Goes(ctx context.Context) ([]string, error) {
	var all []string
	add := func(what string, names ...string) {
		if len(names) > 0 {
			all = append(all, what+": "+strings.Join(names, ", "))
		}
	}
	pids, err := node.Processes(l.Record.Cgroup())
	if err != nil {
		return nil, err
	}
	if len(pids) > 0 {
		add("pods", fmt.Sprintf("%d processes in cgroup %s", len(pids), l.Record.Cgroup()))
	}
	add("programs", node.ComponentContainerd, node.ComponentKubelet, node.ComponentProxy, node.ComponentImporter)
	add("rules", "those of kube-proxy in the packet filter")
	since, err := l.Record.Before.links()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, link := range since {
		names = append(names, link.Attrs().Name)
	}
	add("network interfaces", names...)
	paths, err := l.paths()
	if err != nil {
		return nil, err
	}
	add("files", paths...)
	return all, ctx.Err()
}

// paths are what of files goes: what is ours, and what has come to where others have things too.
func (l *Leaving) paths() ([]string, error) {
	added, err := l.Record.Before.added(sharedFolders())
	return append(added, string(l.Place), StateDir), err
}

// pods ends the pods once nothing can start them any more.
func (l *Leaving) pods(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runtimePatience)
	defer cancel()
	d, err := descriptionOf(ctx, l.Runner, l.Place, l.Program, Host{}, l.Record)
	if err != nil {
		return err
	}
	if d.host, err = Look(ctx, true); err != nil {
		return err
	}
	w, err := d.runtimeAlone()
	if err != nil {
		return err
	}
	if err := l.Runner.Apply(ctx, w); err != nil {
		return fmt.Errorf("leave containerd alone running: %w", err)
	}
	if err := l.alone(ctx); err != nil {
		return err
	}
	return stopPods(ctx, socket())
}

// alone waits until containerd runs and nothing else does.
func (l *Leaving) alone(ctx context.Context) error {
	again := time.NewTicker(killPatience / 100)
	defer again.Stop()
	for {
		status, err := l.Runner.Status(ctx, Workload)
		if err != nil || len(status.Components) == 1 && status.Ready() && answers(ctx) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for kubelet and kube-proxy to end: %w", context.Cause(ctx))
		}
	}
}

// programs ends everything that runs: what is left of pods is killed.
func (l *Leaving) programs(ctx context.Context) error {
	if _, err := l.Runner.Remove(ctx, Workload, componentGrace); err != nil {
		return fmt.Errorf("stop the node's programs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, killPatience)
	defer cancel()
	if err := node.KillCgroup(ctx, l.Record.Cgroup()); err != nil {
		return fmt.Errorf("end what runs in pods: %w", err)
	}
	return retry(ctx, func() error { return node.RemoveCgroups(l.Record.Cgroup()) })
}

// retry tries again until ctx ends: the kernel needs a moment after the end of a process.
func retry(ctx context.Context, try func() error) error {
	again := time.NewTicker(killPatience / 100)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// interfaces removes those of the cluster's network, and what else was set for it.
func (l *Leaving) interfaces(context.Context) error {
	since, err := l.Record.Before.links()
	if err != nil {
		return err
	}
	for _, link := range since {
		if err := links.Remove(links.Here(), link.Attrs().Name); err != nil {
			return err
		}
	}
	return node.RestoreKernel(l.Record.Before.Kernel)
}

// files removes what lies on the machine. The record goes last.
func (l *Leaving) files(context.Context) error {
	paths, err := l.paths()
	if err != nil {
		return err
	}
	// The kubelet mounts its own folder onto itself, also where that was there before.
	if err := unmount(append(slices.Clone(paths), node.KubeletDir), l.Record.Before.Mounts); err != nil {
		return err
	}
	others := slices.DeleteFunc(paths, func(p string) bool { return p == string(l.Place) })
	if err := removeAll(others); err != nil {
		return err
	}
	return l.place()
}

// place removes the node's own folder, and the record after everything else in it.
func (l *Leaving) place() error {
	entries, err := os.ReadDir(string(l.Place))
	if err != nil {
		return fmt.Errorf("remove the folder of the node: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.Name() != recordFile && e.Name() != lostAndFound {
			all = append(all, l.Place.file(e.Name()))
		}
	}
	if err := removeAll(all); err != nil {
		return err
	}
	if slices.Contains(l.Record.Before.Mounts, string(l.Place)) { // a disk that the operator gave the node
		return removeAll([]string{l.Place.file(recordFile)})
	}
	return removeAll([]string{string(l.Place)})
}
