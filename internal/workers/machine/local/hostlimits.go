//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// Limits of the kernel that all of a host shares, or that each user of it has, as sysctls. A machine with users of its own
// is a user: the kernel counts what it uses for the user who made it, and bounds that by the host's setting.
const (
	sysctlInstances  = "fs.inotify.max_user_instances"
	sysctlWatches    = "fs.inotify.max_user_watches"
	sysctlProcesses  = "kernel.pid_max"
	sysctlThreads    = "kernel.threads-max"
	sysctlFiles      = "fs.file-max"
	sysctlNeighbours = "net.ipv4.neigh.default.gc_thresh3"
	sysctlConntrack  = "net.netfilter.nf_conntrack_max"
	sysctlUsers      = "user.max_user_namespaces"
)

// Pods for which limits are judged, on each machine: more than that many are rare, and fullPods is what a kubelet takes at most.
const usualPods, fullPods = 30, 110

// What programs take, measured with Kubernetes 1.36 and containerd 2.4 and rounded up.
const (
	nodeInstances  = 8  // kubelet 5, containerd 2
	planeInstances = 13 // API server 7, controller manager 5, scheduler 1
	otherInstances = 20 // the user's other programs
	nodeThreads    = 60
	podThreads     = 26 // a shim has 13; a container some
	planeThreads   = 30
	otherThreads   = 500
	nodeFiles      = 200
	podFiles       = 80
	planeFiles     = 300
	otherFiles     = 2000
	podWatches     = 60 // the kubelet watches each cgroup, with version 1 once for each controller
	nodeWatches    = 500
	leastConntrack = 65536
)

// load is what a host carries, or is to carry.
type load struct {
	// machines on the host, of which shared have no users of their own: what those use is counted for root.
	machines, shared int64
	planes           int64
	// unified: cgroups are of version 2, with which each container's shim takes an inotify instance.
	unified bool
	// root: KQueen runs as root, so that each control plane has a user of its own.
	root bool
}

// limit is one of the kernel's.
type limit struct {
	sysctl string
	need   func(l load, pods int64) int64
	// vital: with fewer than no pods need, a node does not get ready.
	vital bool
	// why says what for, after "needs N".
	why string
}

// limits are all that bind. It is pure.
func limits() []limit {
	return []limit{
		{sysctlInstances, load.instances, true, "for each user; a machine is one"},
		{sysctlWatches, load.watches, true, "for each user; a machine is one"},
		{sysctlProcesses, load.threads, true, "for all processes and threads of the host"},
		{sysctlThreads, load.threads, true, "for all processes and threads of the host"},
		{sysctlFiles, load.files, true, "for all open files of the host"},
		{sysctlNeighbours, load.neighbours, false, "for the neighbours in all networks of the host"},
		{sysctlConntrack, load.connections, false, "for the connections of each machine"},
		{sysctlUsers, load.users, false, "so that machines have users of their own"},
	}
}

// instances is what the user needs who needs most of them: a machine, or root, or who runs KQueen.
func (l load) instances(pods int64) int64 {
	each := nodeInstances + pods // programs in pods watch files, too
	if l.unified {
		each += 2 * pods // one for each container, of which a pod has one beside its own
	}
	most := otherInstances + l.shared*each
	if !l.root {
		most = otherInstances + l.planes*planeInstances
	}
	if l.machines > l.shared {
		most = max(most, each)
	}
	return most
}

func (l load) watches(pods int64) int64 {
	each := nodeWatches + pods*podWatches
	return max(min(l.machines, 1), l.shared) * each
}

func (l load) threads(pods int64) int64 {
	return otherThreads + l.planes*planeThreads + l.machines*(nodeThreads+pods*podThreads)
}

func (l load) files(pods int64) int64 {
	return otherFiles + l.planes*planeFiles + l.machines*(nodeFiles+pods*podFiles)
}

// neighbours: a pod knows its machine, and its machine the pod; machines know each other.
func (l load) neighbours(pods int64) int64 { return l.machines * (2*pods + 2) }

func (l load) connections(int64) int64 { return min(l.machines, 1) * leastConntrack }

func (l load) users(int64) int64 { return min(l.machines, 1) }

// readings are settings by the name of the sysctl. What the host does not have is not in it.
type readings map[string]int64

// shortage is a limit of the host that is lower than its load needs.
type shortage struct {
	sysctl           string
	have, need, full int64 // full is for machines with as many pods as a kubelet takes
	why              string
	// vital: nodes do not get ready at all.
	vital bool
}

// shortages says which limits are too low for a load. It is pure.
func (r readings) shortages(l load) []shortage {
	var all []shortage
	for _, limit := range limits() {
		have, known := r[limit.sysctl]
		need := limit.need(l, usualPods)
		if !known || have >= need {
			continue
		}
		least := limit.need(l, 0)
		all = append(all, shortage{
			sysctl: limit.sysctl, have: have, need: need, full: roundUp(limit.need(l, fullPods)), why: limit.why, vital: limit.vital && have < least,
		})
	}
	return all
}

// roundUp is the next power of two, and not a small one: what is told to set is set once.
func roundUp(n int64) int64 {
	up := int64(1024)
	for up < n {
		up *= 2
	}
	return up
}

func (s shortage) String() string {
	return fmt.Sprintf("%s is %d, and this host needs %d (%s); set it with: sysctl -w %s=%d", s.sysctl, s.have, s.need, s.why, s.sysctl, s.full)
}

// vital are the shortages with which nodes do not get ready, as an error; nil for none. It is pure.
func vital(all []shortage) error {
	all = slices.DeleteFunc(slices.Clone(all), func(s shortage) bool { return !s.vital })
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%w: a limit of the host is too low for another machine: %s", machine.ErrCapacity, strings.Join(wordsOf(all), "; "))
}

// readLimits reads the host's settings.
func readLimits() readings {
	r := readings{}
	for _, l := range limits() {
		data, err := os.ReadFile(filepath.Join("/proc/sys", strings.ReplaceAll(l.sysctl, ".", "/")))
		if err != nil {
			continue // this kernel has none
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			r[l.sysctl] = n
		}
	}
	return r
}

// Shortages says, in words and with the remedy, which limits of the host are too low for what runs on it, with so many
// workloads in all. One machine at least is counted where there can be any.
func (p *Provider) Shortages(workloads int) []string {
	p.mu.Lock()
	l := p.load(0)
	p.mu.Unlock()
	l.planes = max(0, int64(workloads)-l.machines)
	if p.facts.root {
		l.machines = max(l.machines, 1)
	}
	return wordsOf(p.limits().shortages(l))
}

func wordsOf(all []shortage) []string {
	var words []string
	for _, s := range all {
		words = append(words, s.String())
	}
	return words
}

// admit says why the host has no place for another machine. The caller holds p.mu.
func (p *Provider) admit() error { return vital(p.limits().shortages(p.load(1))) }

// explain adds to what is said of a machine that does not run what of the host may be the cause.
func (p *Provider) explain(o machine.Observed) machine.Observed {
	if o.State == machine.Running {
		return o
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, words := range wordsOf(p.limits().shortages(p.load(0))) {
		o.Message += "; " + words
	}
	return o
}

// load is what the host carries with more machines than there are. The caller holds p.mu.
func (p *Provider) load(more int64) load {
	l := load{machines: int64(len(p.records)) + more, root: p.facts.root, unified: node.CgroupV2()}
	for _, r := range p.records {
		if r.Isolation == machine.IsolationOwnRoot {
			l.shared++
		}
	}
	return l
}
