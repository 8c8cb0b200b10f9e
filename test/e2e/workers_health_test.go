//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netns"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
)

// unready is for how long a node may be not ready. That nodes which die together are dead is seen up to 20 seconds apart: 10 are
// between two signs of life of each, 5 between two looks of the controller manager, and 5 between two of KQueen. With less
// patience the first one is replaced before it can be seen that many are dead.
const unready = 30 * time.Second

// TestWorkersDie lets one machine of four die, and then takes the network of three.
func TestWorkersDie(t *testing.T) {
	needRoot(t)
	parallel(t, 5*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "demo", "--wait")
	i.ok("nodepool", "create", "demo", "--cluster", "demo", "--nodes", "4", "--unready-timeout", unready.String(), "--max-unhealthy", "40%", "--wait")
	w := i.workers("demo")
	w.apply("spread.yaml")
	w.kube("rollout", "status", "deployment/spread", "--timeout=6m")
	first := w.machines()

	// Its kubelet and containerd are killed whenever they come back: a machine that is not to be mended.
	one := w.keepKilling(t, first[:1])
	eventually(t, "the dead machine is replaced", func(context.Context) error {
		return w.replaced(first[:1], first[1:])
	})
	one()
	w.kube("rollout", "status", "deployment/spread", "--timeout=6m")
	if out := w.kube("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"); strings.Contains(out, first[0].Name) {
		t.Errorf("pods are still on the node that is gone: %s", out)
	}
	w.ok("nodepool", "wait", "demo")

	second := w.machines()
	connect := w.disconnect(t, second[:3])
	defer connect()
	eventually(t, "the pool says that too many are dead", func(ctx context.Context) error {
		c, err := w.condition(ctx, "demo", v1alpha1.ConditionHealthy)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(c, v1alpha1.ReasonTooManyUnhealthy) {
			return fmt.Errorf("condition Healthy is %q", c)
		}
		for _, m := range second[:3] {
			if !strings.Contains(c, m.Name) {
				return fmt.Errorf("%s is not named in %q", m.Name, c)
			}
		}
		return nil
	})
	// Beyond the time after which one of them alone would have been given up.
	w.stays(t, second, unready+10*time.Second)
	connect()
	// They come back one after the other; a last one may be given up while the others are well again.
	w.ok("nodepool", "wait", "demo")
	w.wantNodes(len(second))
}

// keepKilling kills the kubelet and containerd of machines whenever they run, until the returned function is called.
func (w *workers) keepKilling(t *testing.T, machines []v1alpha1.Machine) (stop func()) {
	return w.killing(t.Context(), func(p process) bool {
		dies := slices.ContainsFunc(machines, func(m v1alpha1.Machine) bool { return string(m.UID) == p.workload })
		// The shims of the pods carry containerd's mark too, and are left alone.
		return dies && (p.component == "kubelet" || strings.HasSuffix(p.args[0], "/containerd"))
	})
}

// disconnect drops all that programs of machines send to the API server, until the returned function is called. They run on, so that
// no machine gives a sign of life after the others as one does whose programs are killed and started again.
func (w *workers) disconnect(t *testing.T, machines []v1alpha1.Machine) (connect func()) {
	t.Helper()
	var conns []*nftables.Conn
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "disconnected"}
	for _, m := range machines {
		network, err := netns.GetFromPid(w.pid(m.Namespace+"/"+m.Name, "kubelet")) // its process "machine" is one of the host
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = network.Close() })
		conn, err := nftables.New(nftables.WithNetNSFd(int(network)))
		if err != nil {
			t.Fatal(err)
		}
		conn.AddTable(table)
		out := conn.AddChain(&nftables.Chain{
			Name: "out", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter,
		})
		conn.AddRule(&nftables.Rule{Table: table, Chain: out, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 4}, // the destination
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: net.IPv4(192, 0, 2, 1).To4()},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return sync.OnceFunc(func() {
		for _, conn := range conns {
			conn.DelTable(table)
			if err := conn.Flush(); err != nil {
				t.Error(err)
			}
		}
	})
}

// replaced says whether the gone machines are gone, the others are as they were, and the nodes are four again.
func (w *workers) replaced(gone, stay []v1alpha1.Machine) error {
	have := map[types.UID]bool{}
	for _, m := range w.machines() {
		have[m.UID] = true
	}
	for _, m := range gone {
		if have[m.UID] {
			return fmt.Errorf("%s is there", m.Name)
		}
	}
	for _, m := range stay {
		if !have[m.UID] {
			w.t.Fatalf("%s was healthy and is gone", m.Name)
		}
	}
	if out := w.kube("get", "nodes", "--no-headers"); strings.Count(out, " Ready ") != len(gone)+len(stay) {
		return fmt.Errorf("nodes:\n%s", out)
	}
	return nil
}

// stays wants that the machines are the same for as long.
func (w *workers) stays(t *testing.T, want []v1alpha1.Machine, long time.Duration) {
	t.Helper()
	uids := func(all []v1alpha1.Machine) (out []string) {
		for _, m := range all {
			out = append(out, string(m.UID))
		}
		return out
	}
	again := time.NewTicker(look)
	defer again.Stop()
	for begin := time.Now(); ; <-again.C {
		if diff := cmp.Diff(uids(want), uids(w.machines())); diff != "" {
			t.Fatalf("machines changed (-want +got):\n%s", diff)
		}
		if time.Since(begin) >= long {
			return
		}
	}
}

// condition is a condition of a pool that is not true, as "reason: message", and empty for one that is.
func (w *workers) condition(ctx context.Context, pool, name string) (string, error) {
	p := &v1alpha1.NodePool{}
	if err := w.admin().Get(ctx, types.NamespacedName{Namespace: "org-default", Name: pool}, p); err != nil {
		return "", err
	}
	c := apimeta.FindStatusCondition(p.Status.Conditions, name)
	if c == nil || c.Status != "False" {
		return "", nil
	}
	return c.Reason + ": " + c.Message, nil
}
