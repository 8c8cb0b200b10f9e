//go:build linux

package local

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/workers/machine"
)

const (
	// subnetBits is the size of a cluster's subnet, of which the bridge takes the first address.
	subnetBits = machine.HostNetworkBits
	// machinesPerCluster are the addresses of a subnet without the network's own, the gateway's, those of Services and the last
	// one, to which all of the network listen.
	machinesPerCluster = 256 - 1 - 1 - machine.ServiceAddresses - 1
	// Interface names have at most 15 letters.
	bridgePrefix, linkPrefix = hostcheck.BridgePrefix, "kqv"
)

func bridgeOf(cluster types.UID) string { return bridgePrefix + short(cluster) }
func linkOf(of types.UID) string        { return linkPrefix + short(of) }

// cgroupOf is the cgroup of a machine's pods, below each hierarchy.
func cgroupOf(of types.UID) string { return "/kqueen/" + string(of) }

// short is a name of ten letters; forty bits of a hash, which no two of some thousand machines share.
func short(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:5])
}

// gateway is the first address of the subnet: the host's, on the cluster's bridge.
func gateway(address netip.Prefix) netip.Prefix {
	return netip.PrefixFrom(address.Masked().Addr().Next(), address.Bits())
}

// choose picks a free address for a machine: in the subnet that the cluster has, or in the first one that no
// cluster has and that overlaps nothing in use. It is pure.
func choose(from netip.Prefix, cluster types.UID, records map[types.UID]record, inUse []netip.Prefix) (netip.Prefix, error) {
	taken := map[netip.Addr]bool{}
	subnets := map[netip.Prefix]bool{}
	own := netip.Prefix{}
	for _, r := range records {
		taken[r.Address.Addr()] = true
		subnets[r.Address.Masked()] = true
		if r.Cluster == cluster {
			own = r.Address.Masked()
		}
	}
	if own.IsValid() { // it was free when it was chosen, and now the cluster's own bridge is in use
		return chooseIn(own, taken)
	}
	for _, s := range subnetsOf(from, cluster) {
		if !subnets[s] && !overlaps(s, inUse) {
			return chooseIn(s, taken)
		}
	}
	return netip.Prefix{}, fmt.Errorf("no subnet of %s is free for the machines of another cluster; give them another range with --machine-network", from)
}

// subnetsOf cuts the range into subnets and begins with one that the cluster's name leads to: two installations
// on one host that choose at the same moment see each other's choice only later.
func subnetsOf(from netip.Prefix, cluster types.UID) []netip.Prefix {
	var all []netip.Prefix
	for s := netip.PrefixFrom(from.Masked().Addr(), subnetBits); from.Contains(s.Addr()); s = netip.PrefixFrom(after(s), subnetBits) {
		all = append(all, s)
	}
	sum := sha256.Sum256([]byte(cluster))
	first := int(binary.BigEndian.Uint16(sum[:])) % len(all)
	return append(all[first:], all[:first]...)
}

func chooseIn(subnet netip.Prefix, taken map[netip.Addr]bool) (netip.Prefix, error) {
	a := subnet.Addr().Next() // the gateway's, behind the network's own
	for range machinesPerCluster {
		if a = a.Next(); !taken[a] {
			return netip.PrefixFrom(a, subnetBits), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("all addresses of %s are taken: a cluster has at most %d machines on one host", subnet, machinesPerCluster)
}

// after is the first address behind a subnet.
func after(p netip.Prefix) netip.Addr {
	a := p.Addr().As4()
	const third = 2
	for i := third; i >= 0; i-- {
		a[i]++
		if a[i] != 0 {
			break
		}
	}
	return netip.AddrFrom4(a)
}

func overlaps(p netip.Prefix, others []netip.Prefix) bool {
	return slices.ContainsFunc(others, p.Overlaps)
}
