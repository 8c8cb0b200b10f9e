package hostcheck

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Facts are what a host is like, read once.
type Facts struct {
	Sysctls Readings
	// Root: the checks are for a KQueen that runs as root.
	Root bool
	// Unified: cgroups are of version 2. Controllers are those that can be used, of either version.
	Unified     bool
	Controllers []string
	// PacketFilter is the tool of which kube-proxy makes rules; empty when there is none.
	PacketFilter string
	// Forwarding is nil when that is not known.
	Forwarding *Forwarding
	// OpenFiles is how many files a process may have open; 0 when that is not known.
	OpenFiles int64
	// MemoryTotal and MemoryAvailable are in bytes; 0 when that is not known.
	MemoryTotal, MemoryAvailable int64
	// Running: KQueen runs, so that some of what it needs is taken by itself.
	Running bool
	Disk    Disk
	// Now is the time, and Synchronized says whether the kernel is told the time by a time server; nil when it does not say.
	Now          time.Time
	Synchronized *bool
	// GivenPorts is the range of ports that the kernel gives to outgoing connections; KQueensPorts is what KQueen gives away.
	GivenPorts, KQueensPorts PortRange
	Ports                    []Port
}

// BridgePrefix begins the names of the bridges of clusters with machines on this host.
const BridgePrefix = "kqb"

// bridgeCalls says whether packets between the machines of a bridge pass the host's packet filter (br_netfilter).
const bridgeCalls = "net.bridge.bridge-nf-call-iptables"

// Forwarding is what the host's packet filter does with packets that it forwards, by nftables. Rules of iptables-legacy are not seen.
type Forwarding struct {
	// Drops names the first table that drops those of machines: no rule of it is about their bridges. Empty for none.
	Drops string
}

// Disk is the one of the data directory.
type Disk struct {
	// Dir is the folder that was looked at: the data directory, or what there is of the path to it.
	Dir string
	// Free is in bytes, for the user that runs KQueen.
	Free int64
	// Sync is how long it took to have a small file on the disk, and SyncError why that could not be done. Both are zero when
	// it was not tried.
	Sync      time.Duration
	SyncError string
}

// PortRange is the first and the last port; zero when it is not known.
type PortRange struct{ First, Last int }

// Port is one that the installation will take.
type Port struct {
	// Of names what listens there, and Flag chooses it.
	Of, Flag string
	Number   int
	// Fixed: clients have it already, or the user has chosen it. Any other near it will do otherwise.
	Fixed bool
	// Taken says that it cannot be had, and why; empty when it can. Ours: KQueen listens there. Left: what KQueen has started
	// may listen there and go on without it.
	Taken      string
	Ours, Left bool
}

// DiskSpace is the name of the check of it.
const DiskSpace = "disk"

// What programs take of a host, measured with Kubernetes 1.36 and rounded up: see bench/README.md.
const (
	ownMemory   = 640 << 20 // KQueen, the admin plane, two etcd, gateway, egress proxy and gate
	planeMemory = 350 << 20 // with the kinds of the Gateway API, which take 65 MiB of it
	nodeMemory  = 128 << 20 // the programs of a node, without pods
	leastMemory = 1 << 30

	// leastDisk: etcd preallocates its write-ahead log in steps of 64 MiB.
	leastDisk = 1 << 30
	planeDisk = 100 << 20
	nodeDisk  = 1 << 30 // the image store of a machine

	// A connection of a client takes two of the gateway's files.
	ownOpenFiles, planeOpenFiles, nodeOpenFiles = 1024, 100, 50
	leastOpenFiles                              = 256

	// slowSync is far more than etcd asks of a disk, which is 10 ms.
	slowSync = 100 * time.Millisecond
)

// firstTime is before any KQueen was built.
func firstTime() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// neededControllers are those of which machines bound their pods.
func neededControllers() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

func (f Facts) openFiles(size Size) Check {
	need := ownOpenFiles + planeOpenFiles*(size.Clusters+1) + nodeOpenFiles*size.Nodes
	c := Check{Name: "open files", Result: OK, Found: fmt.Sprint(f.OpenFiles), Needed: fmt.Sprintf("%d for each process", need)}
	switch {
	case f.OpenFiles == 0:
		c.Result, c.Found = Unknown, "not told by this kernel"
	case f.OpenFiles < need:
		c.Result, c.Blocks = Failed, f.OpenFiles < leastOpenFiles
		c.Why = `the gateway and etcd refuse connections with "too many open files"`
		c.Remedy = fmt.Sprintf("raise it before KQueen starts: ulimit -n %d, LimitNOFILE=%d in a unit of systemd, or nofile in /etc/security/limits.conf", roundUp(need), roundUp(need))
	}
	return c
}

func (f Facts) memory(size Size) Check {
	need := ownMemory + planeMemory*size.Clusters + nodeMemory*size.Nodes
	c := Check{
		Name: "memory", Result: OK, Found: fmt.Sprintf("%s, %s of it available", bytes(f.MemoryTotal), bytes(f.MemoryAvailable)),
		Needed: bytes(need) + " without pods",
	}
	switch {
	case f.MemoryTotal == 0:
		c.Result, c.Found = Unknown, "not told by this kernel"
	case f.MemoryTotal < need:
		c.Result, c.Blocks = Failed, f.MemoryTotal < ownMemory
		c.Why = "the kernel ends programs when memory runs out, clusters first"
		c.Remedy = fmt.Sprintf("have fewer clusters here, or give the host %s", bytes(max(need, leastMemory)))
	case !f.Running && f.MemoryAvailable < need:
		c.Result = Warning
		c.Why = "other programs of this host have the rest; the kernel ends programs when memory runs out"
		c.Remedy = "stop other programs, or have fewer clusters here"
	}
	return c
}

func (f Facts) disk(size Size) Check {
	need := leastDisk + planeDisk*size.Clusters + nodeDisk*size.Nodes
	c := Check{Name: DiskSpace, Result: OK, Found: fmt.Sprintf("%s free in %s", bytes(f.Disk.Free), f.Disk.Dir), Needed: bytes(need)}
	switch {
	case f.Disk.Dir == "":
		c.Result, c.Found = Unknown, "not looked at"
	case f.Disk.Free < need && !f.Running || f.Disk.Free < leastDisk:
		c.Result = Failed
		c.Why = "etcd stops taking writes when the disk is full, and with it every cluster"
		c.Remedy = "free some, or choose another place with --data-dir before the first start"
	}
	return c
}

func (f Facts) sync() Check {
	c := Check{Name: "disk writes", Result: OK, Found: "on the disk after " + f.Disk.Sync.Round(time.Millisecond/10).String(), Needed: "10ms"}
	switch {
	case f.Disk.SyncError != "":
		c.Result, c.Found, c.Blocks = Failed, f.Disk.SyncError, true
		c.Why = "nothing can be kept: etcd ends when its writes do not get to the disk"
		c.Remedy = "choose another place with --data-dir, on a disk that can be written"
	case f.Disk.Sync == 0:
		c.Result, c.Found = Unknown, "not tried"
	case f.Disk.Sync > slowSync:
		c.Result = Warning
		c.Why = "every change of every cluster waits that long, and elections and leases run out on a busy host"
		c.Remedy = "put the data directory on an SSD of this host, and not on a network file system"
	}
	return c
}

func (f Facts) clock() Check {
	c := Check{Name: "clock", Result: OK, Found: f.Now.UTC().Format(time.RFC3339), Needed: "the time, kept by a time server"}
	switch {
	case f.Now.Before(firstTime()):
		c.Result, c.Blocks = Failed, true
		c.Why = "certificates that are issued now have expired as soon as the clock is right"
		c.Remedy = "set it, and have it kept: apt-get install chrony"
	case f.Synchronized == nil:
		c.Found += ", not known whether a time server keeps it"
	case !*f.Synchronized:
		c.Result = Warning
		c.Found += ", kept by no time server"
		c.Why = "tokens and certificates are refused by nodes and users whose clocks differ"
		c.Remedy = "have it kept: apt-get install chrony"
	default:
		c.Found += ", kept by a time server"
	}
	return c
}

// forwarding is never written by KQueen: it makes a router of the host.
func (f Facts) forwarding() Check {
	const name = "net.ipv4.ip_forward"
	n, known := f.Sysctls[name]
	c := Check{Name: name, Result: OK, Found: fmt.Sprint(n), Needed: "1, when pods are to reach other hosts"}
	switch {
	case !known:
		c.Result, c.Found = Unknown, "not told by this kernel"
	case n == 0:
		c.Result = Warning
		c.Why = "machines on this host reach nothing outside of it, registries of images neither"
		c.Remedy = "set it with: sysctl -w " + name + "=1, which turns the host into a router; --fix leaves that to you"
	}
	return c
}

// forwarded is about the rules of the host's owner, which KQueen does not change. Docker's drop what is not its own, for example.
func (f Facts) forwarded() Check {
	c := Check{Name: "forwarded packets", Result: OK, Found: "not dropped by the packet filter", Needed: "those of machines are let through"}
	switch {
	case f.Forwarding == nil:
		c.Result, c.Found = Unknown, "the packet filter cannot be read"
	case f.Forwarding.Drops != "":
		c.Result, c.Found = Warning, fmt.Sprintf("the table %s drops them, and no rule of it is about the bridges %s…", f.Forwarding.Drops, BridgePrefix)
		c.Why = "machines on this host reach nothing outside of it"
		if f.Sysctls[bridgeCalls] != 0 {
			c.Why += ", nor each other: " + bridgeCalls + " is 1"
		}
		c.Remedy = fmt.Sprintf("let them through with: iptables -I FORWARD -i %[1]s+ -j ACCEPT; iptables -I FORWARD -o %[1]s+ -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", BridgePrefix)
	}
	return c
}

func (f Facts) cgroups() Check {
	need := neededControllers()
	c := Check{Name: "cgroups", Result: OK, Found: strings.Join(f.Controllers, " "), Needed: strings.Join(need, " ")}
	missing := slices.DeleteFunc(need, func(name string) bool { return slices.Contains(f.Controllers, name) })
	if len(missing) > 0 {
		c.Result = Failed
		c.Why = "the kubelet does not start without them"
		c.Remedy = "boot the kernel with cgroup_enable=" + strings.Join(missing, " cgroup_enable=") + ", or, in a container, have the cgroups of the host delegated"
	}
	if c.Found == "" {
		c.Found = "none"
	}
	return c
}

func (f Facts) packetFilter() Check {
	c := Check{Name: "packet filter", Result: OK, Found: f.PacketFilter, Needed: "nft or iptables"}
	if f.PacketFilter == "" {
		c.Result, c.Found = Failed, "none"
		c.Why = "kube-proxy cannot set up Services: machines on this host are refused"
		c.Remedy = "install it with: apt-get install nftables"
	}
	return c
}

func (f Facts) root() Check {
	c := Check{Name: "user", Result: OK, Found: "root", Needed: "root, for nodes on this host"}
	if !f.Root {
		c.Result, c.Found = Failed, "not root"
		c.Why = "namespaces and networks of machines are made by root alone"
		c.Remedy = "run KQueen as root, or join machines of your own: kqueen node join-command --help"
	}
	return c
}

func (f Facts) portRange() Check {
	given, own := f.GivenPorts, f.KQueensPorts
	c := Check{
		Name: "net.ipv4.ip_local_port_range", Result: OK, Found: fmt.Sprintf("%d to %d", given.First, given.Last),
		Needed: fmt.Sprintf("outside of %d to %d", own.First, own.Last),
	}
	switch {
	case given.Last == 0:
		c.Result, c.Found = Unknown, "not told by this kernel"
	case given.First <= own.Last && own.First <= given.Last:
		c.Result = Warning
		c.Why = "the kernel gives ports of API servers to connections of other programs, and an API server that is restarted waits for its own"
		c.Remedy = fmt.Sprintf(`set it with: sysctl -w net.ipv4.ip_local_port_range="%d 60999"`, max(own.Last+1, 32768))
	}
	return c
}

func (p Port) check() Check {
	c := Check{Name: "port of the " + p.Of, Result: OK, Found: fmt.Sprintf("%d is free", p.Number), Needed: fmt.Sprint(p.Number)}
	switch {
	case p.Ours:
		c.Found = fmt.Sprintf("%d, on which KQueen listens", p.Number)
	case p.Taken == "":
	case p.Left && p.Fixed:
		c.Result, c.Found = Unknown, fmt.Sprintf("%d is taken, perhaps by KQueen's own %s, which goes on without it", p.Number, p.Of)
	case !p.Fixed:
		c.Found = fmt.Sprintf("%d is taken", p.Number)
		c.Needed = fmt.Sprintf("%d, or a free one near it", p.Number)
	default:
		c.Result, c.Found = Failed, p.Taken
		c.Why = "clients have this port, and look for another one in vain"
		c.Remedy = "stop the program that listens there, or choose another with " + p.Flag
	}
	return c
}

// bytes writes a size as a user reads it.
func bytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
