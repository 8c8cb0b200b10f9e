package policies

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
)

// compiler has what is under way of one compilation.
type compiler struct {
	cluster *cluster
	limits  limits // what is left of them
	sets    map[string]Set
	sources map[sourceKey]*source
	leftOut map[string]bool
}

// resolve sets the rules of isolated pods. All that is needed for the oldest policies comes first, of all namespaces.
func (c *compiler) resolve(all []isolation) {
	var wanted []*source
	users := map[*source][]*isolation{}
	for i := range all {
		for _, s := range all[i].sources {
			if users[s] == nil {
				wanted = append(wanted, s)
			}
			users[s] = append(users[s], &all[i])
		}
	}
	slices.SortStableFunc(wanted, func(a, b *source) int { return older(a.policy, b.policy) })
	for _, s := range wanted {
		c.findPeers(s)
		differs := s.direction == Ingress && hasNames(s.ports) // by the containers of the isolated pod
		var rules []Rule
		for i, user := range users[s] {
			if i == 0 || differs {
				rules = c.rulesOf(s, user.pod)
			}
			user.rules = append(user.rules, rules...)
		}
	}
	for i := range all {
		slices.SortFunc(all[i].rules, compareRules)
		all[i].rules = slices.Compact(all[i].rules)
	}
}

func (c *compiler) findPeers(s *source) {
	if len(s.peers) == 0 {
		return // all
	}
	set, within := c.cluster.addresses(s.policy.Namespace, s.peers)
	if !within {
		c.void(s)
		return
	}
	s.set = set
	s.names = map[Family]string{}
	ranges := map[Family][]netipx.IPRange{}
	for _, r := range s.set.Ranges() {
		ranges[familyOf(r.From())] = append(ranges[familyOf(r.From())], r)
	}
	for family, list := range ranges {
		s.names[family] = c.add(s, Set{Family: family, Addresses: list})
	}
}

// rulesOf returns what a rule of a policy allows for a pod that it selects.
func (c *compiler) rulesOf(s *source, selected pod) []Rule {
	if s.void {
		return nil
	}
	if len(s.ports) == 0 {
		return s.withPorts("")
	}
	ports := numbered(s.ports)
	if s.direction == Ingress && hasNames(s.ports) {
		ports = merge(append(ports, named(s.ports, selected.Pod)...))
	}
	var out []Rule
	if len(ports) > 0 {
		if name := c.add(s, Set{Ports: ports}); name != "" {
			out = s.withPorts(name)
		}
	}
	if s.direction == Egress && hasNames(s.ports) {
		out = append(out, c.endpointsOf(s)...)
	}
	if s.void {
		return nil
	}
	return out
}

// withPorts returns the rules for all peers: one, or one for each family in which there are some.
func (s *source) withPorts(name string) []Rule {
	if s.set == nil {
		return []Rule{{Ports: name}}
	}
	var out []Rule
	for family, addresses := range s.names {
		out = append(out, Rule{Family: family, Addresses: addresses, Ports: name})
	}
	return out
}

// endpointsOf returns the rules for named ports of pods that are peers.
func (c *compiler) endpointsOf(s *source) []Rule {
	found := map[Family][]Endpoint{}
	count := 0
	for _, pods := range c.cluster.pods {
		for _, p := range pods {
			peers := slices.DeleteFunc(slices.Clone(p.addresses), func(a netip.Addr) bool { return s.set != nil && !s.set.Contains(a) })
			if c.cluster.matches -= 1 + len(s.ports); c.cluster.matches < 0 || count > c.limits.elements {
				c.void(s)
				return nil
			}
			if len(peers) == 0 {
				continue
			}
			for _, e := range endpoints(peers, named(s.ports, p.Pod)) {
				found[familyOf(e.Address)] = append(found[familyOf(e.Address)], e)
				count++
			}
		}
	}
	var out []Rule
	for family, list := range found {
		slices.SortFunc(list, compareEndpoints)
		if name := c.add(s, Set{Family: family, Endpoints: slices.Compact(list)}); name != "" {
			out = append(out, Rule{Family: family, Endpoints: name})
		}
	}
	return out
}

func endpoints(addresses []netip.Addr, ports []Ports) []Endpoint {
	var out []Endpoint
	for _, a := range addresses {
		for _, p := range ports {
			for port := int(p.First); port <= int(p.Last); port++ { // ports that touch were joined
				out = append(out, Endpoint{Address: a, Protocol: p.Protocol, Port: uint16(port)})
			}
		}
	}
	return out
}

// add returns the name of a set, or "" if it is beyond a bound: then the rule allows nothing.
func (c *compiler) add(s *source, set Set) string {
	name := set.name()
	if _, known := c.sets[name]; known {
		return name
	}
	if cost := set.size() + setCost; cost > c.limits.elements || len(set.Ports) > c.limits.ports {
		c.void(s)
		return ""
	}
	c.limits.elements -= set.size() + setCost
	c.sets[name] = set
	return name
}

// void lets a rule allow nothing.
func (c *compiler) void(s *source) {
	s.void = true
	c.leaveOut(s.policy)
}

func (c *compiler) leaveOut(p *networkingv1.NetworkPolicy) {
	c.leftOut["policy "+p.Namespace+"/"+p.Name] = true
}
