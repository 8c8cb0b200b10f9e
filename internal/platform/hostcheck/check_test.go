package hostcheck

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// good is a host on which everything fits.
func good() Facts {
	yes := true
	sysctls := with("net.ipv4.ip_forward", 1)
	return Facts{
		Sysctls: sysctls, Root: true, Unified: true, Controllers: []string{"cpuset", "cpu", "io", "memory", "pids"}, PacketFilter: "nftables", Forwarding: &Forwarding{},
		OpenFiles: 1 << 20, MemoryTotal: 16 << 30, MemoryAvailable: 12 << 30, Disk: Disk{Dir: "/var/lib", Free: 100 << 30, Sync: 2 * time.Millisecond},
		Now: firstTime().AddDate(1, 0, 0), Synchronized: &yes, GivenPorts: PortRange{32768, 60999}, KQueensPorts: PortRange{20000, 29999},
		Ports: []Port{{Of: "gateway", Flag: "--gateway-port", Number: 6443}},
	}
}

// host is one on which one thing is not as it should be.
type host struct {
	change  func(*Facts)
	size    Size
	want    []string // "result name: found, needed: …"
	blocked bool
}

var small = Size{Clusters: 1, Nodes: 1}

var hosts = map[string]host{
	"good": {func(*Facts) {}, Size{5, 5}, nil, false},
	"good for no nodes": {func(f *Facts) {
		f.Root, f.Controllers, f.PacketFilter, f.Sysctls = false, nil, "", with("net.ipv4.ip_forward", 0)
	}, Size{1, 0}, nil, false},
	"few inotify instances": {func(f *Facts) { f.Sysctls[Instances] = 32 }, small, []string{
		`failed fs.inotify.max_user_instances: 32, needed: 98 for each user; a machine is one; API servers, kubelets and containerd end with "too many open files", and clusters or nodes do not get ready; set it with: sysctl -w fs.inotify.max_user_instances=1024`,
	}, false},
	"too few for one cluster": {func(f *Facts) { f.Sysctls[Instances] = 13 }, Size{1, 0}, []string{
		`failed fs.inotify.max_user_instances: 13, needed: 20 for each user; a machine is one; API servers, kubelets and containerd end with "too many open files", and clusters or nodes do not get ready; set it with: sysctl -w fs.inotify.max_user_instances=1024`,
	}, true},
	"few for a user that is not root": {func(f *Facts) { f.Root, f.Sysctls[Instances] = false, 32 }, Size{1, 0}, []string{
		`failed fs.inotify.max_user_instances: 32, needed: 48 for each user; a machine is one; API servers, kubelets and containerd end with "too many open files", and clusters or nodes do not get ready; set it with: sysctl -w fs.inotify.max_user_instances=1024`,
	}, false},
	"a default for many clusters of one user": {func(f *Facts) { f.Root = false }, Size{8, 0}, []string{
		`failed fs.inotify.max_user_instances: 128, needed: 146 for each user; a machine is one; API servers, kubelets and containerd end with "too many open files", and clusters or nodes do not get ready; set it with: sysctl -w fs.inotify.max_user_instances=1024`,
	}, false},
	"a filter that drops": {func(f *Facts) { f.Forwarding.Drops = "filter" }, small, []string{
		"warning forwarded packets: the table filter drops them, and no rule of it is about the bridges kqb…, needed: those of machines are let through; machines on this host reach nothing outside of it; let them through with: iptables -I FORWARD -i kqb+ -j ACCEPT; iptables -I FORWARD -o kqb+ -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
	}, false},
	"a filter that drops between machines": {func(f *Facts) { f.Forwarding.Drops, f.Sysctls[bridgeCalls] = "filter", 1 }, small, []string{
		"warning forwarded packets: the table filter drops them, and no rule of it is about the bridges kqb…, needed: those of machines are let through; machines on this host reach nothing outside of it, nor each other: net.bridge.bridge-nf-call-iptables is 1; let them through with: iptables -I FORWARD -i kqb+ -j ACCEPT; iptables -I FORWARD -o kqb+ -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
	}, false},
	"few open files": {func(f *Facts) { f.OpenFiles = 1024 }, small, []string{
		`failed open files: 1024, needed: 1274 for each process; the gateway and etcd refuse connections with "too many open files"; raise it before KQueen starts: ulimit -n 2048, LimitNOFILE=2048 in a unit of systemd, or nofile in /etc/security/limits.conf`,
	}, false},
	"memory for fewer": {func(f *Facts) { f.MemoryTotal = 2 << 30 }, Size{10, 3}, []string{
		"failed memory: 2048 MiB, 12 GiB of it available, needed: 4524 MiB without pods; the kernel ends programs when memory runs out, clusters first; have fewer clusters here, or give the host 4524 MiB",
	}, false},
	"memory for none":     {func(f *Facts) { f.MemoryTotal = 256 << 20 }, Size{1, 0}, []string{"failed memory: 256 MiB, 12 GiB of it available, needed: 990 MiB without pods; the kernel ends programs when memory runs out, clusters first; have fewer clusters here, or give the host 1024 MiB"}, true},
	"memory of others":    {func(f *Facts) { f.MemoryAvailable = 512 << 20 }, Size{1, 0}, []string{"warning memory: 16 GiB, 512 MiB of it available, needed: 990 MiB without pods; other programs of this host have the rest; the kernel ends programs when memory runs out; stop other programs, or have fewer clusters here"}, false},
	"memory of its own":   {func(f *Facts) { f.MemoryAvailable, f.Running = 512<<20, true }, Size{1, 0}, nil, false},
	"a full disk":         {func(f *Facts) { f.Disk.Free = 1 << 20 }, Size{1, 0}, []string{"failed disk: 1 MiB free in /var/lib, needed: 1124 MiB; etcd stops taking writes when the disk is full, and with it every cluster; free some, or choose another place with --data-dir before the first start"}, false},
	"a disk that is used": {func(f *Facts) { f.Disk.Free, f.Running = 2<<30, true }, Size{5, 5}, nil, false},
	"a disk that is read only": {func(f *Facts) { f.Disk.Sync, f.Disk.SyncError = 0, "read-only file system" }, Size{1, 0}, []string{
		"failed disk writes: read-only file system, needed: 10ms; nothing can be kept: etcd ends when its writes do not get to the disk; choose another place with --data-dir, on a disk that can be written",
	}, true},
	"a slow disk": {func(f *Facts) { f.Disk.Sync = time.Second }, Size{1, 0}, []string{
		"warning disk writes: on the disk after 1s, needed: 10ms; every change of every cluster waits that long, and elections and leases run out on a busy host; put the data directory on an SSD of this host, and not on a network file system",
	}, false},
	"a clock of before": {func(f *Facts) { f.Now = time.Unix(0, 0) }, Size{1, 0}, []string{
		"failed clock: 1970-01-01T00:00:00Z, needed: the time, kept by a time server; certificates that are issued now have expired as soon as the clock is right; set it, and have it kept: apt-get install chrony",
	}, true},
	"a clock by itself": {func(f *Facts) { f.Synchronized = new(bool) }, Size{1, 0}, []string{
		"warning clock: 2027-01-01T00:00:00Z, kept by no time server, needed: the time, kept by a time server; tokens and certificates are refused by nodes and users whose clocks differ; have it kept: apt-get install chrony",
	}, false},
	"no forwarding": {func(f *Facts) { f.Sysctls["net.ipv4.ip_forward"] = 0 }, small, []string{
		"warning net.ipv4.ip_forward: 0, needed: 1, when pods are to reach other hosts; machines on this host reach nothing outside of it, registries of images neither; set it with: sysctl -w net.ipv4.ip_forward=1, which turns the host into a router; --fix leaves that to you",
	}, false},
	"no memory controller": {func(f *Facts) { f.Controllers = []string{"cpu", "cpuset", "pids"} }, small, []string{
		"failed cgroups: cpu cpuset pids, needed: cpu cpuset memory pids; the kubelet does not start without them; boot the kernel with cgroup_enable=memory, or, in a container, have the cgroups of the host delegated",
	}, false},
	"no packet filter": {func(f *Facts) { f.PacketFilter = "" }, small, []string{
		"failed packet filter: none, needed: nft or iptables; kube-proxy cannot set up Services: machines on this host are refused; install it with: apt-get install nftables",
	}, false},
	"not root": {func(f *Facts) { f.Root = false }, small, []string{
		"failed user: not root, needed: root, for nodes on this host; namespaces and networks of machines are made by root alone; run KQueen as root, or join machines of your own: kqueen node join-command --help",
	}, false},
	"ports given to others": {func(f *Facts) { f.GivenPorts = PortRange{1024, 65000} }, Size{1, 0}, []string{
		`warning net.ipv4.ip_local_port_range: 1024 to 65000, needed: outside of 20000 to 29999; the kernel gives ports of API servers to connections of other programs, and an API server that is restarted waits for its own; set it with: sysctl -w net.ipv4.ip_local_port_range="32768 60999"`,
	}, false},
	"a port that any will do for": {func(f *Facts) { f.Ports[0].Taken = "address already in use" }, Size{1, 0}, nil, false},
	"a port of its own": {func(f *Facts) {
		f.Ports[0].Taken, f.Ports[0].Fixed, f.Ports[0].Ours = "address already in use", true, true
	}, Size{1, 0}, nil, false},
	"a port of what was left": {func(f *Facts) {
		f.Ports[0].Taken, f.Ports[0].Fixed, f.Ports[0].Left = "address already in use", true, true
	}, Size{1, 0}, nil, false},
	"a port that clients have": {func(f *Facts) { f.Ports[0].Taken, f.Ports[0].Fixed = "address already in use", true }, Size{1, 0}, []string{
		"failed port of the gateway: address already in use, needed: 6443; clients have this port, and look for another one in vain; stop the program that listens there, or choose another with --gateway-port",
	}, false},
}

// TestAll: what is said of a host, for how many clusters and nodes.
func TestAll(t *testing.T) {
	for name, tc := range hosts {
		t.Run(name, func(t *testing.T) {
			f := good()
			tc.change(&f)
			all := All(f, tc.size)
			var got []string
			for _, c := range Problems(all, Failed, Warning) {
				got = append(got, string(c.Result)+" "+c.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if blocked := len(Blocking(all)) > 0; blocked != tc.blocked {
				t.Errorf("blocked: %t, want %t", blocked, tc.blocked)
			}
		})
	}
}

// TestNothingKnown: a host that tells nothing is not taken for a bad one, and each check says that it does not know.
func TestNothingKnown(t *testing.T) {
	for _, c := range All(Facts{Now: firstTime(), Root: true, PacketFilter: "nftables", Controllers: neededControllers()}, Size{1, 1}) {
		if c.Result == Failed || c.Blocks || c.Found == "" || c.Needed == "" {
			t.Errorf("%s: %s (%s)", c.Name, c.Result, c)
		}
	}
}

// TestFix: the file has what failed, and what it had before; nothing is lowered, and all can be taken back.
func TestFix(t *testing.T) {
	f := good()
	f.Sysctls[Instances], f.Sysctls[Watches] = 32, 100
	f.Sysctls["net.ipv4.ip_forward"] = 0 // is the user's to decide
	plan := Fix(All(f, Size{1, 1}), f.Sysctls, "# old\nfs.inotify.max_user_instances = 4096\nkernel.pid_max=99999\nnot a setting\n")
	want := Plan{
		Content: "# What clusters and nodes of KQueen need of this host. Written by: kqueen check --fix\n" +
			"fs.inotify.max_user_instances = 4096\nfs.inotify.max_user_watches = 8192\nkernel.pid_max = 99999\n",
		Changes: []Change{{Instances, 32, 4096}, {Watches, 100, 8192}},
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	undo := "rm /etc/sysctl.d/90-kqueen.conf\nsysctl -w fs.inotify.max_user_instances=32\nsysctl -w fs.inotify.max_user_watches=100"
	if got := strings.Join(plan.Undo(), "\n"); got != undo {
		t.Errorf("undone by\n%s", got)
	}
	if diff := cmp.Diff(Plan{}, Fix(All(good(), Size{1, 1}), nil, "kernel.pid_max=99999\n")); diff != "" {
		t.Errorf("a good host is changed: %s", diff)
	}
}
