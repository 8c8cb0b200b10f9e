package hosted

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Taken is a range of addresses that means something already where control planes run.
type Taken struct {
	Range netip.Prefix
	// As says what it is, such as "the network of machines".
	As string
}

// special are the ranges that mean the same everywhere, and never a pod or a Service.
func special() []Taken {
	of := func(cidr, as string) Taken { return Taken{netip.MustParsePrefix(cidr), as} }
	return []Taken{
		of("127.0.0.0/8", "the loopback addresses"), of("::1/128", "the loopback addresses"),
		of("169.254.0.0/16", "the link-local addresses"), of("fe80::/10", "the link-local addresses"),
		of("0.0.0.0/8", "the addresses of a host that has none yet"), of("::/128", "the addresses of a host that has none yet"),
		of("224.0.0.0/3", "the addresses of groups and the reserved ones"), of("ff00::/8", "the addresses of groups"),
		of("::ffff:0:0/96", "the IPv4 addresses in the notation of IPv6"),
	}
}

// checkNetwork refuses a new cluster whose pods or Services would have addresses that are others' already: the API server runs on
// KQueen's host and could not tell them apart, nor could nodes and pods.
func (d *Driver) checkNetwork(ctx context.Context, want provision.Desired) error {
	if _, err := get(ctx, d.Client, want.Ref); !errors.Is(err, provision.ErrNotFound) {
		return nil // what is there stays, whatever networks the host has got since
	}
	taken := special()
	if d.Taken != nil {
		here, err := d.Taken()
		if err != nil {
			return fmt.Errorf("look which networks the host has: %w", err)
		}
		taken = append(taken, here...)
	}
	return overlap(want.Network, taken)
}

// overlap says which range of a cluster is taken. It is pure.
func overlap(network v1alpha1.Network, taken []Taken) error {
	for _, r := range []struct{ field, cidr, flag, example string }{
		{"spec.network.podCIDR", network.PodCIDR, "--pod-cidr", "10.244.0.0/16"},
		{"spec.network.serviceCIDR", network.ServiceCIDR, "--service-cidr", "10.96.0.0/16"},
	} {
		wanted, err := netip.ParsePrefix(r.cidr)
		if err != nil {
			continue // the schema says so, and fills in what is empty
		}
		for _, t := range taken {
			if wanted.Overlaps(t.Range) {
				return invalid.Want(r.field, fmt.Sprintf("%s overlaps %s, %s", r.cidr, t.Range, t.As),
					fmt.Sprintf("a private range that is free here, such as %s (%s)", free(taken, network, r.example), r.flag))
			}
		}
	}
	return nil
}

// free returns a range to propose: the first of some that overlaps nothing.
func free(taken []Taken, network v1alpha1.Network, first string) string {
	for _, candidate := range []string{first, "10.200.0.0/16", "172.30.0.0/16", "10.144.0.0/16", "192.168.192.0/18"} {
		p := netip.MustParsePrefix(candidate)
		ok := true
		for _, t := range taken {
			ok = ok && !p.Overlaps(t.Range)
		}
		for _, cidr := range []string{network.PodCIDR, network.ServiceCIDR} {
			if other, err := netip.ParsePrefix(cidr); err == nil {
				ok = ok && !p.Overlaps(other)
			}
		}
		if ok {
			return candidate
		}
	}
	return first
}
