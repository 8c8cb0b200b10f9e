//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/api/v1alpha1"
)

// vxlanPort is where machines send each other the packets of pods.
const vxlanPort = 8472

// TestWorkersFlannel has a cluster whose pods reach each other by flannel, and takes everything away beneath it.
func TestWorkersFlannel(t *testing.T) {
	needRoot(t)
	parallel(t, 4*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "demo", "--nodes", "2", "--cni", "flannel", "--wait")
	w := i.workers("demo")
	w.wantNodes(2)
	w.apply("workloads.yaml")
	w.apply("sources.yaml")
	for _, what := range []string{"deployment/web", "daemonset/agent", "daemonset/sources", "deployment/coredns -n kube-system"} {
		w.kube(append([]string{"rollout", "status", "--timeout=6m"}, strings.Fields(what)...)...)
	}
	t.Run("Network", w.reachByVXLAN)
	t.Run("Sources", w.seeSources)
	t.Run("Policies", w.closeByVXLAN)
	t.Run("Another node", w.learnVXLAN)
	t.Run("Power", func(t *testing.T) { w.comeBack(t, w.killAll) })
	i.ok("cluster", "delete", "demo", "--yes", "--wait")
	if left := w.traces(t); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

// TestWorkersFlannelKubeadm joins a machine that has no CNI plugins, no network and, because its image cannot be
// pulled here, no kube-proxy: flannel makes a node of it.
func TestWorkersFlannelKubeadm(t *testing.T) {
	needRoot(t)
	parallel(t, 3*time.Minute)
	i := newInstallation(t)
	b := i.kubeadmMachine()
	b.bare = true
	i.ok(append([]string{"up", "--timeout", "5m", "--listen", "0.0.0.0"}, ports(t)...)...)
	i.ok("cluster", "create", "demo", "--cni", "flannel", "--wait")
	i.ok("nodepool", "create", "hand", "--cluster", "demo", "--provider", "manual", "--nodes", "1")
	w := i.workers("demo")
	b.boot(w.awaited())
	b.join(i.ok("node", "join-command", "--pool", "hand", "--with", "kubeadm"))
	i.ok("nodepool", "wait", "hand", "--timeout", "3m")
	w.wantNodes(1)
	w.served()
}

// reachByVXLAN goes from everywhere to everywhere, and wants that it went through the devices of flannel: each knows
// each other machine, and has sent and received.
func (w *workers) reachByVXLAN(t *testing.T) {
	if err := w.knowEachOther(t); err != nil {
		t.Error(err)
	}
	machines, before := w.machines(), map[string]netlink.LinkStatistics{}
	for _, m := range machines {
		link, _ := w.vxlan(t, m)
		before[m.Name] = *link.Attrs().Statistics
	}
	if err := errors.Join(w.reach(), w.reachFromAPIServer()); err != nil {
		t.Error(err)
	}
	for _, m := range machines {
		link, _ := w.vxlan(t, m)
		after := link.Attrs().Statistics
		if after.RxPackets <= before[m.Name].RxPackets || after.TxPackets <= before[m.Name].TxPackets {
			t.Errorf("the device of %s has received %d and sent %d packets before, and %d and %d after",
				m.Name, before[m.Name].RxPackets, before[m.Name].TxPackets, after.RxPackets, after.TxPackets)
		}
	}
}

// knowEachOther says which machine's device does not send to exactly the others, from its own address.
func (w *workers) knowEachOther(t *testing.T) error {
	machines := w.machines()
	for _, m := range machines {
		link, peers := w.vxlan(t, m)
		if link.VxlanId != 1 || link.Port != vxlanPort || link.SrcAddr.String() != m.Status.Address {
			return fmt.Errorf("the device of %s (%s) has network %d, port %d and address %s", m.Name, m.Status.Address, link.VxlanId, link.Port, link.SrcAddr)
		}
		for _, other := range machines {
			if knows := slices.Contains(peers, other.Status.Address); knows != (other.Name != m.Name) {
				return fmt.Errorf("%s sends to %v; %s has %s", m.Name, peers, other.Name, other.Status.Address)
			}
		}
	}
	return nil
}

// closeByVXLAN: a policy that lets no packets in holds between nodes, and its end opens the pods again.
func (w *workers) closeByVXLAN(t *testing.T) {
	if r := w.tryKubectl(w.config, policy, "apply", "-f", "-"); r.code != 0 || r.stderr != "" {
		t.Errorf("a NetworkPolicy is taken with: %+v", r)
	}
	agent := w.kube("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[0].metadata.name}")
	web := strings.Fields(w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}"))
	eventually(t, "no pod is reached", func(context.Context) error {
		for _, ip := range web {
			if w.tryKubectl(w.config, "", "exec", agent, "--", "wget", "-q", "-O", "-", "-T", "1", "http://"+ip+":8080/").code == 0 {
				return fmt.Errorf("%s is", ip)
			}
		}
		return nil
	})
	w.kube("delete", "networkpolicy", "nothing")
	eventually(t, "every pod is reached again", func(context.Context) error {
		for _, ip := range web {
			if err := w.get(agent, ip, "8080"); err != nil {
				return err
			}
		}
		return nil
	})
}

// learnVXLAN adds a node, whose pods reach those that were there.
func (w *workers) learnVXLAN(t *testing.T) {
	old := w.machines()
	w.ok("nodepool", "scale", "demo", "--nodes", "3", "--wait")
	w.kube("rollout", "status", "daemonset/agent", "--timeout=6m")
	eventually(t, "the machines know the third", func(context.Context) error { return w.knowEachOther(t) })
	web := strings.Fields(w.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}"))
	agents := w.kube("get", "pods", "-l", "app=agent", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}`)
	for line := range strings.Lines(agents) {
		agent := strings.Fields(line)
		if slices.ContainsFunc(old, func(m v1alpha1.Machine) bool { return m.Name == agent[1] }) {
			continue
		}
		for _, ip := range web {
			if err := w.get(agent[0], ip, "8080"); err != nil {
				t.Error(err)
			}
		}
		return
	}
	t.Errorf("no agent is on a new node:\n%s", agents)
}

// vxlan is flannel's device in a machine, and the addresses of the machines to which it sends.
func (w *workers) vxlan(t *testing.T, m v1alpha1.Machine) (device *netlink.Vxlan, peers []string) {
	t.Helper()
	network, err := netns.GetFromPid(w.pid(m.Namespace+"/"+m.Name, "kubelet")) // its process "machine" is one of the host
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	handle, err := netlink.NewHandleAt(network)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	link, err := handle.LinkByName("flannel.1")
	if err != nil {
		t.Fatalf("flannel's device in %s: %v", m.Name, err)
	}
	device, ok := link.(*netlink.Vxlan)
	if !ok {
		t.Fatalf("flannel's device in %s is a %s", m.Name, link.Type())
	}
	entries, err := handle.NeighList(device.Attrs().Index, unix.AF_BRIDGE)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		peers = append(peers, entry.IP.String())
	}
	return device, peers
}

// seeSources wants that pods of two machines see each other's addresses: what hides them would break programs that look
// at them.
func (w *workers) seeSources(t *testing.T) {
	const each = `jsonpath={range .items[*]}{.metadata.name} {.status.podIP} {.spec.nodeName}{"\n"}{end}`
	for client := range strings.Lines(w.kube("get", "pods", "-l", "app=agent", "-o", each)) {
		from := strings.Fields(client)
		for server := range strings.Lines(w.kube("get", "pods", "-l", "app=sources", "-o", each)) {
			to := strings.Fields(server)
			if from[2] == to[2] {
				continue // on one machine nothing is in between
			}
			w.kubectl(w.config, "GET / HTTP/1.0\r\n\r\n", "exec", "-i", from[0], "--", "nc", "-w", "5", to[1], "8081")
			eventually(t, "the call of "+from[0]+" is in the log of "+to[0], func(context.Context) error {
				seen := w.kube("logs", to[0])
				if !strings.Contains(seen, net.JoinHostPort("::ffff:"+from[1], "")) {
					return fmt.Errorf("%s has called, and it says:\n%s", from[1], seen)
				}
				return nil
			})
		}
	}
}

const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: nothing}
spec: {podSelector: {}}
`
