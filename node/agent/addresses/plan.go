package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Class is the load balancer class of the Services that are meant; those without a class are meant, too.
	Class = "kqueen.io/load-balancer"
	// Condition of a Service says that its address is one of ours. A Service that has an address without it is another program's.
	Condition = "kqueen.io/LoadBalancerAddress"
)

const (
	reasonAssigned = "Assigned"
	reasonNoRange  = "NoRange"
	reasonNoneFree = "NoneFree"
	reasonRefused  = "AddressRefused"
)

// Change is what a Service's status has to become: an address, or none and why.
type Change struct {
	Service *corev1.Service
	// Address is invalid where the Service has none.
	Address         netip.Addr
	Reason, Message string
}

// Plan says which Services need another status. A Service keeps the address that it has as long as that is in a range and no
// older Service has it; one that names an address in spec.loadBalancerIP gets that one or none. It is pure: the same Services in
// any order give the same plan.
func Plan(services []*corev1.Service, ranges []Range, taken []netip.Addr) []Change {
	services = slices.SortedFunc(slices.Values(services), older)
	used := map[netip.Addr]bool{}
	for _, a := range taken {
		used[a] = true
	}
	has := map[*corev1.Service]netip.Addr{}
	for _, s := range services {
		for _, a := range others(s) {
			used[a] = true
		}
		if a := addressOf(s); wants(s) && a.IsValid() && inAny(ranges, a) && !used[a] && asked(s, a) {
			used[a], has[s] = true, a
		}
	}
	var changes []Change
	for _, s := range services {
		if wants(s) && !foreign(s) && !has[s].IsValid() {
			changes = append(changes, choose(s, ranges, used))
		} else if !wants(s) && ours(s) {
			changes = append(changes, Change{Service: s})
		}
	}
	return slices.DeleteFunc(changes, Change.isSo)
}

func older(a, b *corev1.Service) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// choose picks an address for a Service that has none, and notes that it is used.
func choose(s *corev1.Service, ranges []Range, used map[netip.Addr]bool) Change {
	if len(ranges) == 0 {
		return Change{Service: s, Reason: reasonNoRange, Message: "no addresses are set aside for Services: set values.ranges of the addon load-balancer"}
	}
	if s.Spec.LoadBalancerIP != "" {
		a, err := netip.ParseAddr(s.Spec.LoadBalancerIP)
		switch {
		case err != nil || !inAny(ranges, a):
			return Change{Service: s, Reason: reasonRefused, Message: fmt.Sprintf("spec.loadBalancerIP: %.45q is not in %s", s.Spec.LoadBalancerIP, join(ranges))}
		case used[a]:
			return Change{Service: s, Reason: reasonRefused, Message: fmt.Sprintf("spec.loadBalancerIP: %s is in use", a)}
		}
		used[a] = true
		return assigned(s, a)
	}
	for _, r := range ranges {
		for a := r.First; r.Contains(a); a = a.Next() {
			if !used[a] {
				used[a] = true
				return assigned(s, a)
			}
		}
	}
	return Change{Service: s, Reason: reasonNoneFree, Message: "all addresses of " + join(ranges) + " are in use: delete a Service of type LoadBalancer, or give the addon load-balancer more ranges"}
}

func assigned(s *corev1.Service, a netip.Addr) Change {
	return Change{Service: s, Address: a, Reason: reasonAssigned}
}

// isSo says whether the Service's status is that already.
func (c Change) isSo() bool {
	have := apimeta.FindStatusCondition(c.Service.Status.Conditions, Condition)
	if c.Reason == "" {
		return have == nil
	}
	return have != nil && have.Reason == c.Reason && have.Message == c.Message && c.Address == addressOf(c.Service)
}

// Status is that of the Service after the change.
func (c Change) Status(now metav1.Time) corev1.ServiceStatus {
	status := c.Service.DeepCopy().Status
	status.LoadBalancer.Ingress = nil
	if c.Reason == "" {
		apimeta.RemoveStatusCondition(&status.Conditions, Condition)
		return status
	}
	condition := metav1.Condition{Type: Condition, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.Service.Generation, LastTransitionTime: now}
	if c.Address.IsValid() {
		mode := corev1.LoadBalancerIPModeVIP
		status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: c.Address.String(), IPMode: &mode}}
		condition.Status = metav1.ConditionTrue
	}
	apimeta.SetStatusCondition(&status.Conditions, condition)
	return status
}

func wants(s *corev1.Service) bool {
	class := s.Spec.LoadBalancerClass
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && (class == nil || *class == Class)
}

func ours(s *corev1.Service) bool {
	return apimeta.FindStatusCondition(s.Status.Conditions, Condition) != nil
}

// foreign says whether another program has given the Service an address.
func foreign(s *corev1.Service) bool { return len(s.Status.LoadBalancer.Ingress) > 0 && !ours(s) }

// asked says whether an address is what the Service names, or it names none.
func asked(s *corev1.Service, a netip.Addr) bool {
	return s.Spec.LoadBalancerIP == "" || s.Spec.LoadBalancerIP == a.String()
}

// addressOf is the address that we gave to a Service; invalid when there is none.
func addressOf(s *corev1.Service) netip.Addr {
	if !ours(s) || len(s.Status.LoadBalancer.Ingress) == 0 {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(s.Status.LoadBalancer.Ingress[0].IP)
	return a
}

// others are addresses of a Service that others gave it.
func others(s *corev1.Service) []netip.Addr {
	var all []netip.Addr
	for _, text := range s.Spec.ExternalIPs {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	if foreign(s) {
		for _, i := range s.Status.LoadBalancer.Ingress {
			if a, err := netip.ParseAddr(i.IP); err == nil {
				all = append(all, a)
			}
		}
	}
	return all
}

func inAny(ranges []Range, a netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return r.Contains(a) })
}

func join(ranges []Range) string {
	var all []string
	for _, r := range ranges {
		all = append(all, r.String())
	}
	return strings.Join(all, ", ")
}
