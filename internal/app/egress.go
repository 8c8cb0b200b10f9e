//go:build linux

package app

import (
	"fmt"
	"net/netip"

	"kqueen.io/kqueen/internal/hosting/egress"
)

// checkEgress refuses what API servers of all organizations cannot be allowed to call. That the host gets an address later is no
// reason not to start: calls to it are refused all the same.
func checkEgress(allowed []egress.Destination, machines netip.Prefix) error {
	for _, d := range allowed {
		if err := d.Check([]egress.Closed{machineRange(machines)}); err != nil {
			return fmt.Errorf("--egress-allow: %w", err)
		}
	}
	return nil
}

// closedRanges are the addresses of this host and of its machines, which no list of the egress opens.
func closedRanges(machines netip.Prefix) ([]egress.Closed, error) {
	own, err := egress.HostAddresses()
	if err != nil {
		return nil, err
	}
	closed := []egress.Closed{machineRange(machines)}
	for _, addr := range own {
		closed = append(closed, egress.Closed{Range: netip.PrefixFrom(addr, addr.BitLen()), As: "an address of KQueen's host"})
	}
	return closed, nil
}

func machineRange(machines netip.Prefix) egress.Closed {
	return egress.Closed{Range: machines, As: "the network of machines on KQueen's host (kqueen up --machine-network)"}
}
