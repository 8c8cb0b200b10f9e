//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
)

// joined is a machine on which there is nothing but kqueen, and what it has to join with.
type joined struct {
	*box
	node, line string
}

// nodeDir is where a machine that has joined keeps everything.
const nodeDir = "/var/lib/kqueen-node"

// bare starts a machine that is to become a node.
func (l *lan) bare(node string) *joined {
	l.t.Helper()
	b := &joined{box: l.box(), node: node, line: strings.TrimSpace(l.ok("node", "join-command", node))}
	b.cgroup = filepath.Join("kqueen", node)
	b.start("joined.sh", node)
	return b
}

// shell runs a line in the machine's shell, where kqueen is in PATH, with nothing added to it.
func (b *joined) shell(line string) result {
	b.t.Helper()
	return b.within("sh", "-c", "PATH="+filepath.Dir(programs.kqueen)+":$PATH\n"+line)
}

// join runs the printed line.
func (b *joined) join() result {
	b.t.Helper()
	r := b.shell(b.line)
	if r.code != 0 {
		b.t.Fatalf("%s: exit code %d:\n%s", b.node, r.code, r.stderr)
	}
	return r
}

// refused wants that a line is refused with an exit code and words, and that nothing is begun.
func (b *joined) refused(why, line string, code int, words ...string) {
	b.t.Helper()
	r := b.shell(line)
	for _, w := range words {
		if r.code != code || !strings.Contains(r.stderr, w) {
			b.t.Errorf("%s: want exit code %d and %q, got %d and:\n%s", why, code, w, r.code, r.stderr)
		}
	}
	if _, err := os.Stat(b.inside(nodeDir)); !os.IsNotExist(err) {
		b.t.Errorf("%s: something of a node is there: %v", why, err)
	}
}

// inside is a path of the machine, as the host sees it.
func (b *joined) inside(path string) string {
	return filepath.Join("/proc", strconv.Itoa(b.init.Process.Pid), "root", path)
}

// connect is the network that this user brings: a bridge on each node, and routes between them.
func connect(w *workers, all []*joined) {
	w.t.Helper()
	ranges := map[string]string{}
	for _, b := range all {
		ranges[b.node] = w.kube("get", "node", b.node, "-o", "jsonpath={.spec.podCIDR}")
	}
	for _, b := range all {
		conf := fmt.Sprintf(cniOfJoined, ranges[b.node])
		if err := os.WriteFile(b.inside("/etc/cni/net.d/10-joined.conflist"), []byte(conf), 0o644); err != nil {
			w.t.Fatal(err)
		}
		for _, other := range all {
			if other == b {
				continue
			}
			if r := b.within("ip", "route", "replace", ranges[other.node], "via", other.address.String()); r.code != 0 {
				w.t.Fatal(r.stderr)
			}
		}
	}
}

const cniOfJoined = `{
  "cniVersion": "1.0.0", "name": "joined",
  "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true, "hairpinMode": true,
    "ipMasq": true, "ipMasqBackend": "nftables",
    "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}
  }]
}
`

// pids are the command lines of the machine's processes that live, by their numbers there, but for its process 1 and
// the one that keeps it there.
func (b *joined) pids() map[string]string {
	b.t.Helper()
	entries, err := os.ReadDir(b.inside("/proc"))
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		// One that has ended has no command line.
		data, err := os.ReadFile(filepath.Join(b.inside("/proc"), e.Name(), "cmdline"))
		command := strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
		if _, notOne := strconv.Atoi(e.Name()); notOne != nil || err != nil || command == "" || e.Name() == "1" || command == "cat" {
			continue
		}
		all[e.Name()] = command
	}
	return all
}

// traces are what of a node is there.
func (b *joined) traces() []string {
	b.t.Helper()
	var all []string
	for pid, command := range b.pids() {
		all = append(all, "process "+pid+": "+command)
	}
	for _, path := range []string{nodeDir, "/run/kqueen-node", "/var/lib/kubelet", "/etc/cni", "/opt/cni", "/var/lib/cni", "/run/netns", "/run/containerd", "/var/log/pods", "/var/log/containers"} {
		if _, err := os.Lstat(b.inside(path)); err == nil {
			all = append(all, path)
		}
	}
	for _, dir := range b.cgroups() {
		if _, err := os.Stat(dir); err == nil {
			all = append(all, dir)
		}
	}
	for line := range strings.Lines(b.within("cat", "/proc/self/mountinfo").stdout) {
		if strings.Contains(line, "kubelet") || strings.Contains(line, "kqueen-node") || strings.Contains(line, "/run/netns") {
			all = append(all, "mount "+line)
		}
	}
	for line := range strings.Lines(b.within("ip", "-o", "link").stdout) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] != "lo:" && !strings.HasPrefix(fields[1], "eth0") {
			all = append(all, "link "+fields[1])
		}
	}
	if rules := b.within("nft", "list", "tables").stdout; rules != "" {
		all = append(all, "rules "+rules)
	}
	return all
}

// supervisor is the pid, on the host, of what supervises the node's programs.
func (b *joined) supervisor() string {
	b.t.Helper()
	for pid, command := range b.pids() {
		if strings.Contains(command, "node run") {
			return pid
		}
	}
	return ""
}

// awaitedAll are the names of so many machines, once each says what it waits for.
func (w *workers) awaitedAll(n int) (names []string) {
	w.t.Helper()
	again := time.NewTicker(look)
	defer again.Stop()
	for begin := time.Now(); time.Since(begin) < patience; <-again.C {
		names = nil
		for _, m := range w.machines() {
			for _, c := range m.Status.Conditions {
				if c.Type == v1alpha1.ConditionMachineReady && c.Reason == v1alpha1.ReasonAwaitingJoin {
					names = append(names, m.Name)
				}
			}
		}
		if len(names) == n {
			return names
		}
	}
	w.t.Fatalf("want %d machines that wait, there are %v", n, names)
	return nil
}
