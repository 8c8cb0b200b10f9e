package policies

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// serviceIP is that of a Service, as kube-proxy translates it: before the forward hook, and after it the source, where a pod calls itself.
const serviceIP = "10.96.0.10"

func (n *network) translate(t *testing.T, to string) {
	t.Helper()
	conn, err := nftables.New(nftables.WithNetNSFd(n.node.fd))
	if err != nil {
		t.Fatal(err)
	}
	table := &nftables.Table{Name: "proxy", Family: nftables.TableFamilyIPv4}
	conn.AddTable(table)
	conn.DelTable(table)
	conn.AddTable(table)
	add := func(name string, hook *nftables.ChainHook, priority *nftables.ChainPriority, destination string, exprs ...expr.Any) {
		chain := conn.AddChain(&nftables.Chain{Name: name, Table: table, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: priority})
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append([]expr.Any{
			addressInto(word(0), IPv4, layouts[IPv4].destination), &expr.Cmp{Op: expr.CmpOpEq, Register: word(0), Data: net.ParseIP(destination).To4()},
		}, exprs...)})
	}
	add("before", nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest, serviceIP,
		&expr.Immediate{Register: 1, Data: net.ParseIP(to).To4()}, &expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(nftables.TableFamilyIPv4), RegAddrMin: 1})
	add("after", nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource, to, &expr.Masq{})
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestService: policies are about the pods behind a Service, and none keeps a pod from itself.
func TestService(t *testing.T) {
	n := newNetwork(t)
	for _, address := range []string{aIP, bIP, cIP} {
		n.serve(t, "tcp", address, 80)
	}
	const toB = `{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: b}}}]}]}`
	const fromC = `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 'y'}}}]}]}`
	for name, c := range map[string]struct {
		policy, from, behind string
		allowed              bool
	}{
		"NoPolicy":    {"", aIP, bIP, true},
		"Itself":      {denyAll, aIP, aIP, true},
		"Denied":      {denyAll, aIP, bIP, false},
		"ToPod":       {toB, aIP, bIP, true},
		"ToOtherPod":  {toB, aIP, cIP, false},
		"FromPod":     {fromC, cIP, aIP, true},
		"FromOther":   {fromC, bIP, aIP, false},
		"DeniedThere": {denyIn, cIP, bIP, false},
	} {
		t.Run(name, func(t *testing.T) {
			var specs []string
			if c.policy != "" {
				specs = append(specs, c.policy)
			}
			if err := (Kernel{Namespace: n.node.fd}).Replace(compiled(t, specs...)); err != nil {
				t.Fatal(err)
			}
			n.translate(t, c.behind)
			patience := dropped
			if c.allowed {
				patience = arrives
			}
			conn, err := n.dial(t, "tcp", c.from, serviceIP, 80, patience)
			if (err == nil) != c.allowed {
				t.Errorf("allowed: %v (%v), want %v", err == nil, err, c.allowed)
			}
			if err == nil {
				_ = conn.Close()
			}
		})
	}
}

// TestLeftBehind: what a process left that was killed between its two transactions goes with the next ruleset.
func TestLeftBehind(t *testing.T) {
	n := newNetwork(t)
	conn, err := nftables.New(nftables.WithNetNSFd(n.node.fd))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{tablePrefix + "0", tablePrefix + "1", "of-others"} {
		conn.AddTable(&nftables.Table{Name: name, Family: nftables.TableFamilyINet})
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := (Kernel{Namespace: n.node.fd}).Replace(compiled(t, denyAll)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{tablePrefix + "2"}, n.tables(t)); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if others, err := conn.ListTablesOfFamily(nftables.TableFamilyINet); err != nil || len(others) != 2 {
		t.Errorf("%d tables in all (%v), want 2: others' stay", len(others), err)
	}
}
