// Package peer says which addresses are counted as one when each peer's share is limited.
//
// It hides how IPv6 addresses are handed out. Any package that counts by address may import it.
package peer

import "net/netip"

// subscriberBits are what an IPv6 subscriber has at least: the rest of the address is the subscriber's choice.
const subscriberBits = 64

// Of returns what is counted as one: an IPv4 address, however it is written, or the /64 of an IPv6 address. It is not
// valid when the address is not.
func Of(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	prefix, err := address.Prefix(min(address.BitLen(), subscriberBits))
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
