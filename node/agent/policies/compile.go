package policies

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// limits bound what users of a cluster can have the kernel of a node keep and the agent compute. What is beyond them allows nothing.
type limits struct {
	elements int // of all sets; a set itself counts as setCost
	rules    int // of all chains
	ports    int // ranges of one set: to insert one takes the kernel time that grows with their number
	matches  int // of selectors with objects
}

// setCost is about how many elements take as much of the kernel's memory as an empty set does.
const setCost = 16

// bounds are several times what clusters of a thousand pods were seen to have, and take a node some seconds and tens of megabytes at most.
var bounds = limits{elements: 100_000, rules: 20_000, ports: 1_000, matches: 5_000_000}

// Compile returns what the packet filter of a node has to do so that networking.k8s.io/v1 holds for its pods. It is pure, and takes
// each object that an API server may hold; what it cannot understand of a policy allows nothing.
func Compile(node string, pods []*corev1.Pod, namespaces []*corev1.Namespace, policies []*networkingv1.NetworkPolicy) Ruleset {
	return compile(node, pods, namespaces, policies, bounds)
}

func compile(node string, pods []*corev1.Pod, namespaces []*corev1.Namespace, policies []*networkingv1.NetworkPolicy, most limits) Ruleset {
	c := &compiler{cluster: newCluster(pods, namespaces, most.matches), limits: most, sets: map[string]Set{}, sources: map[sourceKey]*source{}, leftOut: map[string]bool{}}
	byNamespace := map[string][]*policy{}
	// The oldest first: a policy that is created later cannot take the place of those that are there.
	for _, p := range slices.SortedFunc(slices.Values(policies), older) {
		if len(c.cluster.pods[p.Namespace]) > 0 {
			byNamespace[p.Namespace] = append(byNamespace[p.Namespace], prepare(p))
		}
	}
	var all []isolation
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		for _, p := range c.cluster.pods[namespace] {
			if p.Spec.NodeName == node {
				all = append(all, c.isolationsOf(p, byNamespace[namespace])...)
			}
		}
	}
	c.resolve(all)
	return c.ruleset(all)
}

func older(a, b *networkingv1.NetworkPolicy) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// policy is one whose selector was looked at.
type policy struct {
	*networkingv1.NetworkPolicy

	selects labels.Selector
	sources map[Direction][]*source // of the directions that were asked for
}

// source is a rule of a policy, with what it was resolved to.
type source struct {
	direction Direction
	policy    *networkingv1.NetworkPolicy
	peers     []networkingv1.NetworkPolicyPeer
	ports     []networkingv1.NetworkPolicyPort

	set   *netipx.IPSet     // of peers, or nil for all
	names map[Family]string // of the sets of peers
	void  bool              // allows nothing, because of a bound
}

// sourceKey is what makes rules of policies the same.
type sourceKey struct {
	direction       Direction
	namespace, text string
}

// prepare takes a policy whose selector cannot be parsed as one that selects all pods, so that they are isolated.
func prepare(p *networkingv1.NetworkPolicy) *policy {
	selects, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil {
		selects = labels.Everything()
	}
	return &policy{NetworkPolicy: p, selects: selects, sources: map[Direction][]*source{}}
}

// sourcesOf returns the rules of a policy in a direction. Rules that say the same are one: clusters have the same few in each namespace.
func (c *compiler) sourcesOf(p *policy, d Direction) []*source {
	if known, ok := p.sources[d]; ok {
		return known
	}
	var out []*source
	switch d {
	case Ingress:
		for _, r := range p.Spec.Ingress {
			out = append(out, c.only(&source{direction: d, policy: p.NetworkPolicy, peers: r.From, ports: r.Ports}))
		}
	case Egress:
		for _, r := range p.Spec.Egress {
			out = append(out, c.only(&source{direction: d, policy: p.NetworkPolicy, peers: r.To, ports: r.Ports}))
		}
	}
	p.sources[d] = out
	return out
}

// only returns the one of all rules that say the same, which belongs to the oldest of their policies.
func (c *compiler) only(s *source) *source {
	text, err := (&networkingv1.NetworkPolicyEgressRule{To: s.peers, Ports: s.ports}).Marshal()
	if err != nil {
		return s
	}
	key := sourceKey{direction: s.direction, text: string(text)}
	if slices.ContainsFunc(s.peers, func(p networkingv1.NetworkPolicyPeer) bool { return p.IPBlock == nil && p.NamespaceSelector == nil }) {
		key.namespace = s.policy.Namespace // where it selects pods
	}
	known, ok := c.sources[key]
	if !ok {
		c.sources[key] = s
		return s
	}
	if older(s.policy, known.policy) < 0 {
		known.policy = s.policy
	}
	return known
}

// typeOf is the API's name of a direction.
var typeOf = map[Direction]networkingv1.PolicyType{Ingress: networkingv1.PolicyTypeIngress, Egress: networkingv1.PolicyTypeEgress}

// isolates has the API's default for policies that name no types: ingress, and egress if they have rules for it.
func isolates(p *networkingv1.NetworkPolicy, in networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) == 0 {
		return in == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, in)
}

// isolation is a pod of this node that is isolated in a direction.
type isolation struct {
	pod       pod
	direction Direction
	sources   []*source
	rules     []Rule
}

// isolationsOf counts the rules of the policies as matches, because each is looked at for each pod.
func (c *compiler) isolationsOf(p pod, policies []*policy) []isolation {
	var out []isolation
	for _, d := range []Direction{Egress, Ingress} {
		one, isolated := isolation{pod: p, direction: d}, false
		for _, policy := range policies {
			if !isolates(policy.NetworkPolicy, typeOf[d]) || !policy.selects.Matches(labels.Set(p.Labels)) {
				continue
			}
			isolated = true
			sources := c.sourcesOf(policy, d)
			if c.cluster.matches -= len(sources); c.cluster.matches < 0 {
				c.leaveOut(policy.NetworkPolicy)
				continue
			}
			one.sources = append(one.sources, sources...)
		}
		if isolated {
			out = append(out, one)
		}
	}
	return out
}

// chain is the one of an isolated pod.
func (i isolation) chain() Chain { return Chain{Direction: i.direction, Rules: i.rules} }

// ruleset has the chains with the fewest rules first: a pod with very many rules cannot take the place of the others.
func (c *compiler) ruleset(all []isolation) Ruleset {
	out := Ruleset{Sets: map[string]Set{}, Chains: map[string]Chain{}, Isolated: map[Direction]map[netip.Addr]string{Egress: {}, Ingress: {}}}
	slices.SortStableFunc(all, func(a, b isolation) int { return cmp.Compare(len(a.rules), len(b.rules)) })
	for _, one := range all {
		chain := one.chain()
		name := chain.name()
		if _, known := out.Chains[name]; !known {
			if c.limits.rules -= len(chain.Rules); c.limits.rules < 0 {
				c.leftOut["pod "+one.pod.Namespace+"/"+one.pod.Name] = true
				chain = Chain{Direction: one.direction}
				name = chain.name()
			}
			out.Chains[name] = chain
		}
		for _, a := range one.pod.addresses {
			out.Isolated[one.direction][a] = name
		}
	}
	for _, chain := range out.Chains {
		for _, r := range chain.Rules {
			for _, name := range []string{r.Addresses, r.Ports, r.Endpoints} {
				if name != "" {
					out.Sets[name] = c.sets[name]
				}
			}
		}
	}
	out.LeftOut = slices.Sorted(maps.Keys(c.leftOut))
	return out
}
