package addresses

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// service is one of type LoadBalancer, created at some second.
func service(name string, second int, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.Unix(int64(second), 0)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// has gives a Service an address of ours.
func has(address string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status = Change{Service: s, Address: netip.MustParseAddr(address), Reason: reasonAssigned}.Status(metav1.Now())
	}
}

func theirs(address string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	}
}

func asks(address string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerIP = address }
}

func class(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = &name }
}

func kind(t corev1.ServiceType) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Type = t }
}

func TestPlan(t *testing.T) {
	three := []Range{{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("192.0.2.12")}}
	for name, tc := range map[string]struct {
		reason   string
		ranges   []Range
		services []*corev1.Service
		taken    []netip.Addr
		want     map[string]string // name to address or reason
	}{
		"First":     {"the first free addresses, the older Service first", three, []*corev1.Service{service("b", 2), service("a", 1)}, nil, map[string]string{"a": "192.0.2.10", "b": "192.0.2.11"}},
		"Keeps":     {"what has its address is left alone", three, []*corev1.Service{service("a", 1), service("b", 2, has("192.0.2.10"))}, nil, map[string]string{"a": "192.0.2.11"}},
		"Twice":     {"of two with one address the older one keeps it", three, []*corev1.Service{service("b", 2, has("192.0.2.10")), service("a", 1, has("192.0.2.10"))}, nil, map[string]string{"b": "192.0.2.11"}},
		"Taken":     {"nodes keep theirs", three, []*corev1.Service{service("a", 1)}, []netip.Addr{netip.MustParseAddr("192.0.2.10")}, map[string]string{"a": "192.0.2.11"}},
		"Outside":   {"the range is another one now", three, []*corev1.Service{service("a", 1, has("192.0.2.99"))}, nil, map[string]string{"a": "192.0.2.10"}},
		"Asks":      {"it names its address", three, []*corev1.Service{service("a", 1), service("b", 2, asks("192.0.2.12"))}, nil, map[string]string{"a": "192.0.2.10", "b": "192.0.2.12"}},
		"AsksLater": {"it names another address than it has", three, []*corev1.Service{service("a", 1, has("192.0.2.10"), asks("192.0.2.12"))}, nil, map[string]string{"a": "192.0.2.12"}},
		"AsksMore":  {"what is named must be in a range", three, []*corev1.Service{service("a", 1, asks("192.0.2.13")), service("b", 1, asks("x"))}, nil, map[string]string{"a": "AddressRefused", "b": "AddressRefused"}},
		"AsksUsed":  {"what is named must be free", three, []*corev1.Service{service("a", 1, has("192.0.2.10")), service("b", 1, asks("192.0.2.10"))}, nil, map[string]string{"b": "AddressRefused"}},
		"Class":     {"other programs have their classes", three, []*corev1.Service{service("a", 1, class("example.com/x")), service("b", 1, class(Class))}, nil, map[string]string{"b": "192.0.2.10"}},
		"Foreign":   {"another program gave it an address, which nothing else gets", three, []*corev1.Service{service("a", 1, theirs("192.0.2.10")), service("b", 1)}, nil, map[string]string{"b": "192.0.2.11"}},
		"NoMore":    {"it is no load balancer any more", three, []*corev1.Service{service("a", 1, has("192.0.2.10"), kind(corev1.ServiceTypeClusterIP))}, nil, map[string]string{"a": ""}},
		"Other":     {"it never was one", three, []*corev1.Service{service("a", 1, kind(corev1.ServiceTypeNodePort))}, nil, map[string]string{}},
		"Full": {
			"there are more Services than addresses", three,
			[]*corev1.Service{service("a", 1), service("b", 2), service("c", 3), service("d", 4)},
			nil, map[string]string{"a": "192.0.2.10", "b": "192.0.2.11", "c": "192.0.2.12", "d": "NoneFree"},
		},
		"NoRange": {"it is said in the status", nil, []*corev1.Service{service("a", 1)}, nil, map[string]string{"a": "NoRange"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, c := range Plan(tc.services, tc.ranges, tc.taken) {
				got[c.Service.Name] = c.Reason
				if c.Address.IsValid() {
					got[c.Service.Name] = c.Address.String()
				}
				c.Service.Status = c.Status(metav1.Unix(1, 0)) // as the API server has it then
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if again := Plan(tc.services, tc.ranges, tc.taken); len(again) > 0 {
				t.Errorf("once it is so, there is still %v to do", again)
			}
		})
	}
}

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

// TestAnswering: each address has one node, and another one when that is gone; those of other nodes stay where they are.
func TestAnswering(t *testing.T) {
	var services []*corev1.Service
	for i := range 100 {
		services = append(services, service(fmt.Sprint(i), i, has(fmt.Sprintf("192.0.2.%d", i))))
	}
	nodes := []*corev1.Node{node("a", "True"), node("b", "True"), node("c", "True"), node("d", "False"), node("e", "Unknown")}
	nodes = append(nodes, node("f", "True"))
	nodes[5].Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
	share := func(nodes []*corev1.Node) map[netip.Addr]string {
		at := map[netip.Addr]string{}
		for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
			for _, a := range Answering(n, services, nil, nodes) {
				if at[a] != "" {
					t.Errorf("%s and %s answer for %s", at[a], n, a)
				}
				at[a] = n
			}
		}
		return at
	}
	all := share(nodes)
	count := map[string]int{}
	for _, n := range all {
		count[n]++
	}
	if len(all) != 100 || count["a"] < 15 || count["b"] < 15 || count["c"] < 15 || len(count) != 3 {
		t.Errorf("%d addresses are spread as %v", len(all), count)
	}
	for a, n := range share(nodes[1:]) {
		if was := all[a]; was != "a" && was != n {
			t.Errorf("%s moved from %s to %s because a is gone", a, was, n)
		}
	}

	name := "b"
	local := service("local", 1, has("198.51.100.1"))
	local.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	at := func(ready bool) func(*corev1.Service) []*discoveryv1.EndpointSlice {
		return func(*corev1.Service) []*discoveryv1.EndpointSlice {
			return []*discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{NodeName: &name, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}}}}
		}
	}
	for n, want := range map[string]int{"a": 0, "b": 1, "c": 0} {
		if got := Answering(n, []*corev1.Service{local}, at(true), nodes); len(got) != want {
			t.Errorf("%s answers for %v; the one endpoint is on b", n, got)
		}
		if got := Answering(n, []*corev1.Service{local}, at(false), nodes); len(got) != 0 {
			t.Errorf("%s answers for %v; there is no ready endpoint", n, got)
		}
	}
}

func TestParseRanges(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"192.0.2.7":                              "192.0.2.7-192.0.2.7",
		"192.0.2.10-192.0.2.20, 198.51.100.0/28": "192.0.2.10-192.0.2.20, 198.51.100.1-198.51.100.14",
		"192.0.2.5/31":                           "192.0.2.4-192.0.2.5",
		"192.0.2.20-192.0.2.10":                  "refused",
		"2001:db8::1":                            "refused",
		"2001:db8::/64":                          "refused",
		"example.com":                            "refused",
		"192.0.2.0/33":                           "refused",
	} {
		got, err := ParseRanges(text)
		if err != nil && want != "refused" || err == nil && join(got) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
	if got := LastOf(netip.MustParsePrefix("10.223.7.3/24"), 31).String(); got != "10.223.7.224-10.223.7.254" {
		t.Errorf("the last 31 of a /24 are %s", got)
	}
}

func FuzzParseRanges(f *testing.F) {
	f.Add("192.0.2.10-192.0.2.20,198.51.100.0/28")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseRanges(text)
		for _, r := range all {
			if err != nil || r.Last.Less(r.First) || !r.Contains(r.First) || !r.Contains(r.Last) {
				t.Errorf("%q gives %v, %v", text, r, err)
			}
		}
	})
}
