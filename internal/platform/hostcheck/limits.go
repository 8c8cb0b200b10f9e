package hostcheck

import "fmt"

// Limits of the kernel that all of a host shares, or that each user of it has, as sysctls. A machine with users of its own
// is a user: the kernel counts what it uses for the user who made it, and bounds that by the host's setting.
const (
	Instances  = "fs.inotify.max_user_instances"
	Watches    = "fs.inotify.max_user_watches"
	Processes  = "kernel.pid_max"
	Threads    = "kernel.threads-max"
	Files      = "fs.file-max"
	Neighbours = "net.ipv4.neigh.default.gc_thresh3"
	Conntrack  = "net.netfilter.nf_conntrack_max"
	Users      = "user.max_user_namespaces"
)

// Pods for which limits are judged, on each machine: more than that many are rare, and fullPods is what a kubelet takes at most.
const usualPods, fullPods = 30, 110

// What programs take, measured with Kubernetes 1.36 and containerd 2.4 and rounded up.
const (
	nodeInstances  = 8  // kubelet 5, containerd 2
	planeInstances = 14 // API server 7, controller manager 5, scheduler 1
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

// Load is what a host carries, or is to carry.
type Load struct {
	// Planes are control planes, the admin plane among them.
	Planes int64
	// Machines on the host, of which Shared have no users of their own: what those use is counted for root.
	Machines, Shared int64
	// Unified: cgroups are of version 2, with which each container's shim takes an inotify instance.
	Unified bool
	// Root: KQueen runs as root, so that each control plane has a user of its own.
	Root bool
}

// limit is one of the kernel's.
type limit struct {
	sysctl string
	need   func(l Load, pods int64) int64
	// vital: with fewer than no pods need, a node does not get ready.
	vital bool
	// of says of whom, after "needs N", and breaks what happens with fewer.
	of, breaks string
}

// limits are all that bind. It is pure.
func limits() []limit {
	const (
		instances = `API servers, kubelets and containerd end with "too many open files", and clusters or nodes do not get ready`
		watches   = `kubelets end with "no space left on device", and nodes do not get ready`
		processes = `programs end with "resource temporarily unavailable", and pods do not start`
	)
	return []limit{
		{Instances, Load.instances, true, "for each user; a machine is one", instances},
		{Watches, Load.watches, true, "for each user; a machine is one", watches},
		{Processes, Load.threads, true, "for all processes and threads of the host", processes},
		{Threads, Load.threads, true, "for all processes and threads of the host", processes},
		{Files, Load.files, true, "for all open files of the host", `programs of the whole host end with "too many open files in system"`},
		{Neighbours, Load.neighbours, false, "for the neighbours in all networks of the host", "packets between pods and nodes are dropped, now and then"},
		{Conntrack, Load.connections, false, "for the connections of each machine", "new connections of pods are dropped while many are open"},
		{Users, Load.users, false, "so that machines have users of their own", "machines cannot be made, but those with the isolation OwnRoot"},
	}
}

// instances is what the user needs who needs most of them: a machine, a control plane, root, or who runs KQueen.
func (l Load) instances(pods int64) int64 {
	each := nodeInstances + pods // programs in pods watch files, too
	if l.Unified {
		each += 2 * pods // one for each container, of which a pod has one beside its own
	}
	most := otherInstances + l.Shared*each
	if !l.Root {
		most = otherInstances + l.Planes*planeInstances
	}
	if l.Machines > l.Shared {
		most = max(most, each)
	}
	return most
}

func (l Load) watches(pods int64) int64 {
	each := nodeWatches + pods*podWatches
	return max(min(l.Machines, 1), l.Shared) * each
}

func (l Load) threads(pods int64) int64 {
	return otherThreads + l.Planes*planeThreads + l.Machines*(nodeThreads+pods*podThreads)
}

func (l Load) files(pods int64) int64 {
	return otherFiles + l.Planes*planeFiles + l.Machines*(nodeFiles+pods*podFiles)
}

// neighbours: a pod knows its machine, and its machine the pod; machines know each other.
func (l Load) neighbours(pods int64) int64 { return l.Machines * (2*pods + 2) }

func (l Load) connections(int64) int64 { return min(l.Machines, 1) * leastConntrack }

func (l Load) users(int64) int64 { return min(l.Machines, 1) }

// Readings are settings by the name of the sysctl. What the host does not have is not in it.
type Readings map[string]int64

// Shortage is a limit of the host that is lower than its load needs.
type Shortage struct {
	Sysctl string
	// Full is for machines with as many pods as a kubelet takes.
	Have, Need, Full int64
	// Vital: nodes do not get ready at all.
	Vital bool

	of string
}

// Shortages says which limits are too low for a load. It is pure.
func (r Readings) Shortages(l Load) []Shortage {
	var all []Shortage
	for _, limit := range limits() {
		if s, short := r.shortage(limit, l); short {
			all = append(all, s)
		}
	}
	return all
}

func (r Readings) shortage(limit limit, l Load) (Shortage, bool) {
	have, known := r[limit.sysctl]
	s := Shortage{
		Sysctl: limit.sysctl, Have: have, Need: limit.need(l, usualPods), Full: roundUp(limit.need(l, fullPods)),
		Vital: limit.vital && have < limit.need(l, 0), of: limit.of,
	}
	return s, known && have < s.Need
}

// roundUp is the next power of two, and not a small one: what is told to set is set once.
func roundUp(n int64) int64 {
	up := int64(1024)
	for up < n {
		up *= 2
	}
	return up
}

func (s Shortage) String() string {
	return fmt.Sprintf("%s is %d, and this host needs %d (%s); set it with: sysctl -w %s=%d", s.Sysctl, s.Have, s.Need, s.of, s.Sysctl, s.Full)
}
