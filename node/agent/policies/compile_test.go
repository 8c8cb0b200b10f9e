package policies

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var hashed = regexp.MustCompile(`(addresses[46]|endpoints[46]|ports|ingress|egress)-[0-9a-f]{32}`)

// readable numbers the names in a ruleset's text in the order in which they come.
func readable(r Ruleset) string {
	text, count, names := strings.TrimRight(r.String(), "\n"), map[string]int{}, map[string]string{}
	text = hashed.ReplaceAllStringFunc(text, func(name string) string {
		if names[name] == "" {
			kind, _, _ := strings.Cut(name, "-")
			count[kind]++
			names[name] = fmt.Sprintf("%s-%d", kind, count[kind])
		}
		return names[name]
	})
	return strings.ReplaceAll(text, "\t", "  ")
}

func TestCompile(t *testing.T) {
	for name, c := range map[string]struct {
		policies []string
		change   func([]*corev1.Pod) []*corev1.Pod
		want     string
	}{
		"NoPolicy": {},
		"IngressIsTheDefault": {policies: []string{`podSelector: {matchLabels: {app: a}}`}, want: `
  chain ingress-1 {
    drop
  }
  ingress 10.244.1.2 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1`},
		"EgressIsTheDefaultIfThereAreRules": {policies: []string{`{podSelector: {matchLabels: {app: a}}, egress: [{}]}`}, want: `
  chain egress-1 {
    return
    drop
  }
  chain ingress-1 {
    drop
  }
  egress 10.244.1.2 : jump egress-1
  egress fd00:1::2 : jump egress-1
  ingress 10.244.1.2 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1`},
		"EgressRulesOfAnIngressPolicy": {policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], egress: [{}]}`}, want: `
  chain ingress-1 {
    drop
  }
  ingress 10.244.1.2 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1`},
		"PodsShareAChain": {policies: []string{`{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: b}}}], ports: [{port: 80}, {port: 82, endPort: 90}, {port: 81}, {port: 80, protocol: SCTP}, {protocol: UDP}]}]}`}, want: `
  set addresses4-1 { 10.244.1.3 }
  set addresses6-1 { fd00:1::3 }
  set ports-1 { 6 . 80-90, 17 . 0-65535, 132 . 80-80 }
  chain ingress-1 {
    ip saddr @addresses4-1 meta l4proto . th dport @ports-1 return
    ip6 saddr @addresses6-1 meta l4proto . th dport @ports-1 return
    drop
  }
  ingress 10.244.1.2 : jump ingress-1
  ingress 10.244.1.3 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1
  ingress fd00:1::3 : jump ingress-1`},
		"NamedPortsOfDestinations": {policies: []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.0.0/16}}], ports: [{port: http}, {port: 443}, {port: none}]}]}`}, want: `
  set addresses4-1 { 10.244.0.0-10.244.255.255 }
  set endpoints4-1 { 10.244.1.2 . 6 . 80, 10.244.1.3 . 6 . 8080, 10.244.2.2 . 6 . 80 }
  set ports-1 { 6 . 443-443 }
  chain egress-1 {
    ip daddr . meta l4proto . th dport @endpoints4-1 return
    ip daddr @addresses4-1 meta l4proto . th dport @ports-1 return
    drop
  }
  egress 10.244.1.2 : jump egress-1
  egress fd00:1::2 : jump egress-1`},
		"PeersThatAreNoPods": {
			policies: []string{`{podSelector: {matchLabels: {app: a}}, ingress: [{from: [{podSelector: {}}]}]}`},
			change: func(pods []*corev1.Pod) []*corev1.Pod {
				host, done := testPod("x", "host", thisNode, nil, "192.0.2.7"), testPod("x", "done", thisNode, nil, "10.244.1.9")
				host.Spec.HostNetwork, done.Status.Phase = true, corev1.PodSucceeded
				return []*corev1.Pod{pods[0], host, done, testPod("x", "new", thisNode, nil)}
			}, want: `
  set addresses4-1 { 10.244.1.2 }
  set addresses6-1 { fd00:1::2 }
  chain ingress-1 {
    ip saddr @addresses4-1 return
    ip6 saddr @addresses6-1 return
    drop
  }
  ingress 10.244.1.2 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1`},
		"AddressGivenAway": {
			policies: []string{`{podSelector: {matchLabels: {app: b}}}`},
			change: func(pods []*corev1.Pod) []*corev1.Pod {
				now := metav1.Now()
				pods[1].DeletionTimestamp = &now
				return append(pods, testPod("x", "z", thisNode, nil, bIP))
			}, want: `
  chain ingress-1 {
    drop
  }
  ingress fd00:1::3 : jump ingress-1`},
		"NotUnderstood": {policies: []string{`{podSelector: {matchExpressions: [{key: app, operator: Like}]}, ingress: [
			{from: [{ipBlock: {cidr: nonsense}}, {ipBlock: {cidr: 10.0.0.0/8, except: [nonsense]}}, {podSelector: {matchExpressions: [{key: app, operator: Like}]}}, {}]},
			{ports: [{port: 0}, {port: 70000}, {port: 1, protocol: DCCP}]}]}`}, change: func(pods []*corev1.Pod) []*corev1.Pod {
			pods[1].Namespace = "z" // "{}" selects all pods of the namespace
			return pods
		}, want: `
  set addresses4-1 { 10.244.1.2 }
  set addresses6-1 { fd00:1::2 }
  chain ingress-1 {
    ip saddr @addresses4-1 return
    ip6 saddr @addresses6-1 return
    drop
  }
  ingress 10.244.1.2 : jump ingress-1
  ingress fd00:1::2 : jump ingress-1`},
	} {
		t.Run(name, func(t *testing.T) {
			pods := testPods()
			if c.change != nil {
				pods = c.change(pods)
			}
			got := Compile(thisNode, pods, testNamespaces(), testPolicies(t, c.policies...))
			if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), readable(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			slices.Reverse(pods)
			if again := Compile(thisNode, pods, testNamespaces(), testPolicies(t, c.policies...)); again.String() != got.String() {
				t.Error("another order of pods gives other rules")
			}
		})
	}
}

// TestBounds: what is beyond a bound allows nothing, and does not open what is isolated.
func TestBounds(t *testing.T) {
	const web = `{podSelector: {matchLabels: {app: a}}, ingress: [{ports: [{port: 80}]}]}`
	wide := bounds
	for name, c := range map[string]struct {
		limits   limits
		policies []string
		leftOut  []string
		rules    int
	}{
		"Within":    {wide, []string{web, web}, nil, 1},
		"Elements":  {limits{elements: setCost + 1, rules: 9, ports: 9, matches: 99}, []string{web, `{podSelector: {}, ingress: [{ports: [{port: 81}]}]}`}, []string{"policy x/b"}, 1},
		"Addresses": {limits{elements: setCost, rules: 9, ports: 9, matches: 99}, []string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}]}]}`}, []string{"policy x/a"}, 0},
		"OldestFirst": {limits{elements: 2*setCost + 3, rules: 9, ports: 9, matches: 99}, []string{
			`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 80}]}]}`, `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 11.0.0.0/8}}]}]}`,
		}, []string{"policy x/b"}, 1},
		"Ports":   {limits{elements: 999, rules: 9, ports: 1, matches: 99}, []string{`{podSelector: {}, ingress: [{ports: [{port: 80}, {port: 82}]}]}`, web}, []string{"policy x/a"}, 1},
		"Rules":   {limits{elements: 999, rules: 1, ports: 9, matches: 99}, []string{`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 80}]}, {ports: [{port: 81}]}]}`, web}, []string{"pod x/b"}, 1},
		"Matches": {limits{elements: 999, rules: 9, ports: 9, matches: 4}, []string{web, `{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`}, []string{"policy x/b"}, 1},
		"Sources": {limits{elements: 999, rules: 9, ports: 9, matches: 1}, []string{web, web}, []string{"policy x/b"}, 1},
		"Named":   {limits{elements: 999, rules: 9, ports: 9, matches: 2}, []string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}`}, []string{"policy x/a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := compile(thisNode, testPods(), testNamespaces(), testPolicies(t, c.policies...), c.limits)
			if diff := cmp.Diff(c.leftOut, got.LeftOut); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			rules := 0
			for _, chain := range got.Chains {
				rules += len(chain.Rules)
			}
			if len(got.Own()) == 0 || rules != c.rules {
				t.Errorf("%d rules for %d isolated addresses, want %d and some:\n%s", rules, len(got.Own()), c.rules, got)
			}
		})
	}
}

// FuzzCompile: no policy makes it panic, isolated pods stay isolated, every name that is used is there, and the kernel's elements can be written.
func FuzzCompile(f *testing.F) {
	for _, spec := range []string{denyAll, allowAll, `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: '::ffff:10.0.0.0/104', except: [010.1.0.0/16]}}], ports: [{port: 65535, endPort: 65535}, {port: http}]}]}`} {
		for _, p := range testPolicies(f, spec) {
			raw, err := p.Marshal()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := &networkingv1.NetworkPolicy{}
		if err := p.Unmarshal(raw); err != nil {
			t.Skip("it is no policy")
		}
		p.Namespace = "x"
		r := Compile(thisNode, testPods(), testNamespaces(), []*networkingv1.NetworkPolicy{p})
		for _, d := range []Direction{Ingress, Egress} {
			selected := prepare(p)
			for _, pod := range testPods()[:2] {
				want := isolates(p, typeOf[d]) && selected.selects.Matches(labelsOf(pod))
				if _, got := r.Isolated[d][mustAddress(t, pod.Status.PodIPs[0].IP)]; got != want {
					t.Errorf("%s of %s is isolated: %v, want %v", d, pod.Name, got, want)
				}
			}
			for address, chain := range r.Isolated[d] {
				if _, ok := r.Chains[chain]; !ok {
					t.Errorf("%s has no chain %s", address, chain)
				}
			}
		}
		wantSets(t, r)
	})
}

// wantSets wants the sets that rules name, with elements in order: the kernel refuses others.
func wantSets(t *testing.T, r Ruleset) {
	t.Helper()
	for _, chain := range r.Chains {
		for _, rule := range chain.Rules {
			for _, name := range []string{rule.Addresses, rule.Ports, rule.Endpoints} {
				if _, ok := r.Sets[name]; name != "" && !ok {
					t.Errorf("there is no set %q", name)
				}
			}
		}
	}
	for name, set := range r.Sets {
		if set.size() == 0 || len(elementsOf(set)) == 0 {
			t.Errorf("set %s is empty", name)
		}
		for i := 1; i < len(set.Ports); i++ {
			if a, b := set.Ports[i-1], set.Ports[i]; a.Protocol == b.Protocol && a.Last >= b.First {
				t.Errorf("set %s overlaps: %v", name, set.Ports)
			}
		}
	}
}

// large is a cluster of 1000 pods in 20 namespaces, 100 of them on this node, with 10 policies in each.
func large(t testing.TB) ([]*corev1.Pod, []*corev1.Namespace, []*networkingv1.NetworkPolicy) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var pods []*corev1.Pod
	var namespaces []*corev1.Namespace
	var policies []*networkingv1.NetworkPolicy
	for ns := range 20 {
		namespace := fmt.Sprintf("ns-%d", ns)
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"team": fmt.Sprint(ns % 5)}}})
		for i := range 50 {
			n := ns*50 + i
			node := (n + n/10) % 10 // each node has pods of each app
			p := testPod(namespace, fmt.Sprintf("app-%d-%d", i%10, i), fmt.Sprintf("node-%d", node), []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
				fmt.Sprintf("10.244.%d.%d", node, 2+n/10), fmt.Sprintf("fd00:%d::%x", node+1, 2+n/10))
			p.Labels = map[string]string{"app": fmt.Sprint(i % 10)}
			pods = append(pods, p)
		}
		for i := range 10 {
			p := testPolicies(t, fmt.Sprintf(`{podSelector: {matchLabels: {app: '%d'}}, policyTypes: [Ingress, Egress],
				ingress: [{from: [{podSelector: {matchLabels: {app: '%d'}}}, {namespaceSelector: {matchLabels: {team: '%d'}}}], ports: [{port: http}, {port: 9000, endPort: %d}]}],
				egress: [{to: [{namespaceSelector: {}}], ports: [{port: http}]}, {to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}], ports: [{port: 443}]}]}`,
				i, random.IntN(10), random.IntN(5), 9000+i))[0]
			p.Namespace, p.Name, p.CreationTimestamp = namespace, fmt.Sprint("policy-", i), metav1.NewTime(time.Unix(int64(i), 0))
			policies = append(policies, p)
		}
	}
	return pods, namespaces, policies
}

func BenchmarkCompile(b *testing.B) {
	pods, namespaces, policies := large(b)
	b.ReportAllocs()
	for b.Loop() {
		_ = Compile("node-1", pods, namespaces, policies).String()
	}
}

func BenchmarkReplace(b *testing.B) {
	pods, namespaces, policies := large(b)
	rules := Compile("node-1", pods, namespaces, policies)
	n := 0
	for _, set := range rules.Sets {
		n += set.size()
	}
	count := 0
	for _, chain := range rules.Chains {
		count += len(chain.Rules)
	}
	kernel := Kernel{Namespace: newPlace(b).fd}
	for b.Loop() {
		if err := kernel.Replace(rules); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n), "elements")
	b.ReportMetric(float64(count), "rules")
	b.ReportMetric(float64(len(rules.Chains)), "chains")
	b.ReportMetric(float64(len(rules.Own())), "isolated")
}
