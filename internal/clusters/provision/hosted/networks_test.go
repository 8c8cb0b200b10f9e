package hosted

import (
	"net/netip"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
)

func TestOverlap(t *testing.T) {
	const pods, services = "spec.network.podCIDR", "spec.network.serviceCIDR"
	taken := append(special(),
		Taken{netip.MustParsePrefix("10.223.0.0/16"), "the network of machines"}, Taken{netip.MustParsePrefix("192.0.2.0/24"), "a network of the host"},
		Taken{netip.MustParsePrefix("fd00::/64"), "a network of the host"})
	tests := map[string]struct {
		reason         string
		pods, services string
		field          string   // empty when it is taken
		want           []string // parts of the words
	}{
		"Defaults":        {"What every cluster gets.", "10.244.0.0/16", "10.96.0.0/16", "", nil},
		"IPv6":            {"Ranges of IPv6 that nothing has.", "fd00:10:244::/56", "fd00:10:96::/112", "", nil},
		"Host":            {"The host itself would be taken for a pod.", "192.0.2.0/26", "10.96.0.0/16", pods, []string{"192.0.2.0/26 overlaps 192.0.2.0/24, a network of the host", "--pod-cidr", "10.244.0.0/16"}},
		"AroundTheHost":   {"Also when the range is the larger one.", "192.0.0.0/16", "10.96.0.0/16", pods, []string{"192.0.2.0/24"}},
		"HostIPv6":        {"And in IPv6.", "fd00::/56", "fd00:10:96::/112", pods, []string{"fd00::/64"}},
		"Machines":        {"A machine would be taken for a pod.", "10.223.4.0/24", "10.96.0.0/16", pods, []string{"10.223.0.0/16, the network of machines"}},
		"ServiceMachines": {"Or for a Service.", "10.244.0.0/16", "10.223.0.0/20", services, []string{"10.223.0.0/16", "--service-cidr", "10.96.0.0/16"}},
		"Loopback":        {"Every host is that itself.", "127.0.0.0/16", "10.96.0.0/16", pods, []string{"loopback"}},
		"ServiceLoopback": {"A Service at loopback is a program of the node.", "10.244.0.0/16", "127.1.0.0/16", services, []string{"loopback"}},
		"LoopbackIPv6":    {"And in IPv6.", "::/64", "fd00:10:96::/112", pods, []string{"::1/128"}},
		"LinkLocal":       {"Where clouds keep what they tell their machines.", "169.254.0.0/16", "10.96.0.0/16", pods, []string{"link-local"}},
		"Multicast":       {"Groups are no pods.", "239.0.0.0/16", "10.96.0.0/16", pods, []string{"groups"}},
		"Everything":      {"All of it.", "0.0.0.0/0", "10.96.0.0/16", pods, []string{"overlaps"}},
		"Mapped":          {"What is IPv4 in other letters.", "::ffff:127.0.0.0/112", "fd00:10:96::/112", pods, []string{"IPv4"}},
		"Neighbour":       {"The range beside a taken one is free.", "10.224.0.0/16", "10.222.0.0/16", "", nil},
		"Empty":           {"The schema fills it in.", "", "", "", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := overlap(v1alpha1.Network{PodCIDR: tc.pods, ServiceCIDR: tc.services}, taken)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				return
			}
			bad, ok := err.(*invalid.Error) //nolint:errorlint // it is that very value
			if !ok || bad.Field != tc.field {
				t.Fatalf("%s\nwant %s refused, got %v", tc.reason, tc.field, err)
			}
			for _, part := range tc.want {
				if !strings.Contains(bad.Detail(), part) {
					t.Errorf("%s\nwant %q in %q", tc.reason, part, bad.Detail())
				}
			}
		})
	}
}

// TestFreeIsFree: what is proposed is not refused then.
func TestFreeIsFree(t *testing.T) {
	taken := append(special(), Taken{netip.MustParsePrefix("10.0.0.0/8"), "a network of the host"})
	network := v1alpha1.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "172.30.0.0/16"}
	got := free(taken, network, "10.244.0.0/16")
	if err := overlap(v1alpha1.Network{PodCIDR: got, ServiceCIDR: network.ServiceCIDR}, taken); err != nil {
		t.Errorf("%s is proposed, and then: %v", got, err)
	}
	if netip.MustParsePrefix(got).Overlaps(netip.MustParsePrefix(network.ServiceCIDR)) {
		t.Errorf("%s is proposed, which is the range of Services", got)
	}
}
