package pki

import (
	"errors"
	"fmt"
	"net/netip"
)

// storeAdministrator is the etcd user that may do everything. etcd fixes the name.
const storeAdministrator = "root"

// StoreParams is what the table of a shared etcd depends on.
type StoreParams struct {
	// Name tells the store's authorities from those of other stores: "default".
	Name string
	// Hosts are the DNS names and IP addresses of all members, as clients and other members dial them. localhost and 127.0.0.1 are always there.
	Hosts []string
}

// Store returns the table of a shared etcd. The error names every field that is wrong.
//
//	ca          signs the server, its administrator and every tenant's client certificate
//	  server
//	  root      the administrator's client certificate
//	peer-ca     signs members, for each other
//	  peer
//
// Peers have an authority of their own because etcd lets in at its peer port every client whose certificate the peer authority has signed, without asking for a user. Were it the
// clients' authority, every tenant could write to the Raft log of all.
func Store(p StoreParams) (Set, error) {
	names, ips, hostsErr := sortHosts("hosts", p.Hosts)
	var nameErr error
	if err := checkUID(p.Name); err != nil {
		nameErr = fmt.Errorf("name: %w", err)
	}
	if err := errors.Join(nameErr, hostsErr); err != nil {
		return Set{}, err
	}
	names, ips = append(names, "localhost"), append(ips, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	// The server is a client, too: etcd's HTTP gateway dials its own port with the server's certificate. etcd takes no user name from it there.
	server := Leaf{Name: "server", Authority: "ca", CommonName: "etcd-server", Usage: Peer, DNSNames: names, IPs: ips, Lifetime: leafLife}
	peer := Leaf{Name: "peer", Authority: "peer-ca", CommonName: "etcd-peer", Usage: Peer, DNSNames: names, IPs: ips, Lifetime: leafLife}
	return Set{
		Authorities: []Authority{
			{Name: "ca", CommonName: "etcd-ca@" + p.Name, Lifetime: authorityLife},
			{Name: "peer-ca", CommonName: "etcd-peer-ca@" + p.Name, Lifetime: authorityLife},
		},
		Leaves: []Leaf{
			server.normal(),
			peer.normal(),
			{Name: "root", Authority: "ca", CommonName: storeAdministrator, Usage: Client, Lifetime: leafLife},
		},
	}, nil
}

// StoreGate returns the table of a gate before the store of that name. The error names the field that is wrong.
//
//	ca          signs the gate's server certificate and every tenant's client certificate
//	  server
//
// It has an authority of its own so that what a tenant presents to the gate means nothing to the etcd behind it.
func StoreGate(name string) (Set, error) {
	if err := checkUID(name); err != nil {
		return Set{}, fmt.Errorf("name: %w", err)
	}
	server := Leaf{
		Name: "server", Authority: "ca", CommonName: "kqueen-store-gate", Usage: Server,
		DNSNames: []string{"localhost"}, IPs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, Lifetime: leafLife,
	}
	return Set{
		Authorities: []Authority{{Name: "ca", CommonName: "store-gate-ca@" + name, Lifetime: authorityLife}},
		Leaves:      []Leaf{server.normal()},
	}, nil
}

// StoreUser returns the table of what speaks to a store as one of its users: the leaf "client", signed by an authority of
// that name among the signers. The error names the field that is wrong.
func StoreUser(authority, user string) (Set, error) {
	if err := checkStoreUser(user); err != nil {
		return Set{}, fmt.Errorf("user: %w", err)
	}
	return Set{Leaves: []Leaf{{Name: "client", Authority: authority, CommonName: user, Usage: Client, Lifetime: leafLife}}}, nil
}
