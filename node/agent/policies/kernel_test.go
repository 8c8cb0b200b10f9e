package policies

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
)

const (
	denyAll  = `{podSelector: {}, policyTypes: [Ingress, Egress]}`
	allowAll = `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}`
	denyIn   = `{podSelector: {}, policyTypes: [Ingress]}`
	denyOut  = `{podSelector: {}, policyTypes: [Egress]}`
)

// TestTraffic has real connections between pods of a node, and with one of another node, under policies of namespace x.
func TestTraffic(t *testing.T) {
	n := newNetwork(t)
	for _, address := range []string{aIP, bIP, cIP, aIPv6, bIPv6, cIPv6} {
		for _, port := range []int{80, 81, 8080} {
			n.serve(t, "tcp", address, port)
		}
		n.serve(t, "udp", address, 53)
		n.serve(t, "udp", address, 80)
	}
	const toA, fromA = "{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [%s]}", "{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [%s]}"
	for name, c := range map[string]struct {
		policies []string
		allowed  string // "from > to:port", "/udp" behind
		denied   string
	}{
		"None":      {nil, "a>b:80 b>a:80 c>a:80 a>c:80 c>a:53/udp", ""},
		"DenyAll":   {[]string{denyAll}, "", "a>b:80 b>a:80 c>a:80 a>c:80 c>a:53/udp"},
		"DenyIn":    {[]string{denyIn}, "a>c:80", "a>b:80 c>a:80 c>b:53/udp"},
		"DenyOut":   {[]string{denyOut}, "c>a:80 c>b:53/udp", "a>b:80 a>c:80 a>c:53/udp"},
		"AllowAll":  {[]string{denyAll, allowAll}, "a>b:80 b>a:80 c>a:80 a>c:80 c>a:53/udp", ""},
		"Itself":    {[]string{denyAll}, "a>a:80", "b>a:80"},
		"Pod":       {[]string{fmt.Sprintf(toA, "{from: [{podSelector: {matchLabels: {app: b}}}]}")}, "b>a:80 b>a:53/udp c>b:80 a>c:80", "c>a:80"},
		"Namespace": {[]string{fmt.Sprintf(toA, "{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 'y'}}}]}")}, "c>a:80 c>a:81", "b>a:80"},
		"PodInNamespace": {[]string{fmt.Sprintf(toA, "{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 'y'}}, podSelector: {matchLabels: {app: b}}}]}")},
			"", "c>a:80 b>a:80"},
		"Expression": {[]string{fmt.Sprintf(toA, "{from: [{namespaceSelector: {}, podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [b]}]}}]}")}, "c>a:80", "b>a:80"},
		"Port":       {[]string{fmt.Sprintf(toA, "{ports: [{port: 80}]}")}, "b>a:80 c>a:80", "b>a:81 c>a:80/udp c>a:53/udp"},
		"UDP":        {[]string{fmt.Sprintf(toA, "{ports: [{port: 80, protocol: UDP}]}")}, "b>a:80/udp c>a:80/udp", "b>a:80 c>a:53/udp"},
		"Protocol":   {[]string{fmt.Sprintf(toA, "{ports: [{protocol: UDP}]}")}, "b>a:80/udp c>a:53/udp", "b>a:80"},
		"SCTP":       {[]string{fmt.Sprintf(toA, "{ports: [{port: 80, protocol: SCTP}]}")}, "", "b>a:80 c>a:80/udp"},
		"Range":      {[]string{fmt.Sprintf(toA, "{ports: [{port: 81, endPort: 9000}]}")}, "b>a:81 c>a:8080", "b>a:80"},
		"TwoPorts":   {[]string{fmt.Sprintf(toA, "{ports: [{port: 53, protocol: UDP}, {port: 81}, {port: 8080}]}")}, "b>a:81 c>a:8080 c>a:53/udp", "b>a:80 c>a:80/udp"},
		"NamedIn":    {[]string{"{podSelector: {}, ingress: [{ports: [{port: http}]}]}"}, "b>a:80 c>b:8080", "b>a:8080 c>b:80"},
		"NamedOut":   {[]string{fmt.Sprintf(fromA, "{to: [{namespaceSelector: {}}], ports: [{port: http}]}")}, "a>b:8080 a>c:80", "a>b:80 a>c:8080 a>c:80/udp"},
		"EgressPod":  {[]string{fmt.Sprintf(fromA, "{to: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 80}]}")}, "a>b:80 b>c:80 c>a:80", "a>b:81 a>c:80"},
		"Both": {[]string{
			fmt.Sprintf(fromA, "{to: [{podSelector: {}}]}"), "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress]}",
		}, "b>a:80", "a>b:80 a>c:80"},
		"Stacked": {[]string{fmt.Sprintf(toA, "{ports: [{port: 80}]}"), fmt.Sprintf(toA, "{ports: [{port: 81}]}")}, "c>a:80 c>a:81", "c>a:8080"},
		"Block": {[]string{fmt.Sprintf(toA, "{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.1.0/24]}}, {ipBlock: {cidr: 'fd00::/16', except: ['fd00:1::/64']}}]}")},
			"c>a:80", "b>a:80"},
		"BlockInExcept": {[]string{fmt.Sprintf(toA, "{from: [{ipBlock: {cidr: 10.244.0.0/16, except: [10.244.1.0/24]}}, {ipBlock: {cidr: 10.244.1.3/32}}, {ipBlock: {cidr: '::/0'}}]}")},
			"c>a:80 b>a:80", ""},
		"EgressBlock": {[]string{fmt.Sprintf(fromA, "{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.244.2.2/32]}}, {ipBlock: {cidr: '::/0', except: ['fd00:2::2/128']}}]}")}, "a>b:80", "a>c:80"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := (Kernel{Namespace: n.node.fd}).Replace(compiled(t, c.policies...)); err != nil {
				t.Fatal(err)
			}
			for _, family := range []map[string]string{{"a": aIP, "b": bIP, "c": cIP}, {"a": aIPv6, "b": bIPv6, "c": cIPv6}} {
				for connection := range strings.FieldsSeq(c.allowed) {
					if err := n.try(t, family, connection, arrives); err != nil {
						t.Errorf("%s (%s): %v", connection, family["a"], err)
					}
				}
				for connection := range strings.FieldsSeq(c.denied) {
					if err := n.try(t, family, connection, dropped); err == nil {
						t.Errorf("%s (%s) came through", connection, family["a"])
					}
				}
			}
		})
	}
}

// try connects as "a>b:80" or "a>b:53/udp" says.
func (n *network) try(t *testing.T, addresses map[string]string, connection string, patience time.Duration) error {
	t.Helper()
	from, to, _ := strings.Cut(connection, ">")
	to, protocol, isUDP := strings.Cut(to, "/")
	if !isUDP {
		protocol = "tcp"
	}
	var port int
	if _, err := fmt.Sscanf(to[2:], "%d", &port); err != nil {
		t.Fatal(err)
	}
	conn, err := n.dial(t, protocol, addresses[from], addresses[to[:1]], port, patience)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// TestReplace: what is allowed before and after stays allowed while the rules are replaced, connections stay, and what is denied before and
// after is denied all the time.
func TestReplace(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "tcp", aIP, 80)
	n.serve(t, "tcp", aIP, 81)
	n.serve(t, "udp", aIP, 53)
	kernel := Kernel{Namespace: n.node.fd}
	first := compiled(t, `{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}, {port: 53, protocol: UDP}]}]}`)
	second := compiled(t, `{podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80, endPort: 80}, {port: 53, protocol: UDP}]}, {ports: [{port: 8080}]}]}`)
	if first.String() == second.String() {
		t.Fatal("the rulesets are the same")
	}
	replaced := make(chan error, 1)
	ending := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			select {
			case <-ending:
				replaced <- nil
				return
			default:
			}
			if err := kernel.Replace([]Ruleset{first, second}[i%2]); err != nil {
				replaced <- err
				return
			}
		}
	}()
	stop := sync.OnceValue(func() error {
		close(ending)
		return <-replaced
	})
	// Also where the test fails: after the namespace is closed, its number can be that of a file of the host's namespace.
	t.Cleanup(func() { _ = stop() })
	n.whileReplaced(t)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(1, len(n.tables(t))); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func (n *network) whileReplaced(t *testing.T) {
	t.Helper()
	flow, err := n.dial(t, "udp", bIP, aIP, 53, arrives)
	if err != nil {
		t.Fatal(err)
	}
	defer flow.Close()
	var refused net.Conn
	for range 200 {
		if err := exchange(flow, arrives); err != nil {
			t.Fatalf("the flow that was there before stopped: %v", err)
		}
		conn, err := n.dial(t, "tcp", bIP, aIP, 80, arrives)
		if err != nil {
			t.Fatalf("a new connection: %v", err)
		}
		_ = conn.Close()
	}
	for range 20 {
		if refused, err = n.dial(t, "tcp", cIP, aIP, 81, 20*time.Millisecond); err == nil {
			_ = refused.Close()
			t.Fatal("a denied connection came through")
		}
	}
}

// TestEstablished: a policy that comes later does not end connections, and denies new ones; Remove lets all through again.
func TestEstablished(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "tcp", aIP, 80)
	kernel := Kernel{Namespace: n.node.fd}
	if err := kernel.Replace(compiled(t)); err != nil {
		t.Fatal(err)
	}
	conn, err := n.dial(t, "tcp", bIP, aIP, 80, arrives)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := kernel.Replace(compiled(t, denyAll)); err != nil {
		t.Fatal(err)
	}
	if err := exchange(conn, arrives); err != nil {
		t.Errorf("the connection that was there before: %v", err)
	}
	if _, err := n.dial(t, "tcp", bIP, aIP, 80, dropped); err == nil {
		t.Error("a new connection came through")
	}
	for range 2 { // the second time, there is nothing
		if err := kernel.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string(nil), n.tables(t)); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if _, err := n.dial(t, "tcp", bIP, aIP, 80, arrives); err != nil {
		t.Errorf("after the rules were removed: %v", err)
	}
}

// TestNodeReachesPods: a node always reaches its own pods, as the kubelet's probes have to.
func TestNodeReachesPods(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "tcp", aIP, 80)
	if err := (Kernel{Namespace: n.node.fd}).Replace(compiled(t, denyAll)); err != nil {
		t.Fatal(err)
	}
	n.pods["10.244.1.1"] = n.node
	if _, err := n.dial(t, "tcp", "10.244.1.1", aIP, 80, arrives); err != nil {
		t.Error(err)
	}
}

// tables are the names of ours in the node's kernel.
func (n *network) tables(t *testing.T) []string {
	t.Helper()
	conn, err := nftables.New(nftables.WithNetNSFd(n.node.fd))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ours(conn)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, table := range all {
		out = append(out, table.Name)
	}
	return out
}

// TestNeighbors: pods whose policies allow ports alone find each other's addresses, which in IPv6 are packets that pass the filter.
func TestNeighbors(t *testing.T) {
	n := newNetwork(t) // where nothing is known of neighbors yet
	n.serve(t, "tcp", aIPv6, 80)
	const web = `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{ports: [{port: 80}]}], egress: [{ports: [{port: 80}]}]}`
	if err := (Kernel{Namespace: n.node.fd}).Replace(compiled(t, web)); err != nil {
		t.Fatal(err)
	}
	conn, err := n.dial(t, "tcp", bIPv6, aIPv6, 80, arrives)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
