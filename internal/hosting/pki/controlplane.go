package pki

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// leastServiceAddressBits: kube-apiserver refuses a service range of fewer than 8 addresses (ServiceIPRange in k8s.io/kubernetes/pkg/controlplane).
	leastServiceAddressBits = 3
	// longestUID is the longest UID that fits into a common name behind the longest text that we put before it.
	longestUID = longestCommonName - len("front-proxy-ca@")
)

// ControlPlaneParams is what the table of a control plane depends on.
type ControlPlaneParams struct {
	// UID is the control plane's, and tells its authorities from those of all others.
	UID string
	// DNSDomain is the cluster's own: "cluster.local".
	DNSDomain string
	// ServiceCIDR is the (first) service range: "10.96.0.0/16". Its first address is the API server's inside the cluster.
	ServiceCIDR string
	// SNIHost is the name by which the gateway knows the API server: "<cluster>.<organization>.<domain>".
	SNIHost string
	// AdvertiseAddress is the API server's address for nodes. The zero Addr leaves it out.
	AdvertiseAddress netip.Addr
	// ExtraSANs are further DNS names (the first label may be *) and IP addresses of the API server.
	ExtraSANs []string
	// StoreAuthority is the name, among the signers, of the store's authority: "store-ca".
	StoreAuthority string
	// StoreUser is the etcd user that owns the control plane's keyspace.
	StoreUser string
	// Successor is the authority that takes the place of ca; nil while there is none.
	Successor *Successor
	// NextSigningKey says that there is a key beside sa that takes its place.
	NextSigningKey bool
}

// ControlPlane returns the table of a control plane. The error names every field that is wrong.
//
//	ca                        signs users, nodes and the API server
//	  apiserver               server
//	  apiserver-kubelet-client, controller-manager, scheduler, admin
//	front-proxy-ca            signs who may say "this request is user X's": must sign nothing else
//	  front-proxy-client
//	sa                        signs service account tokens
//	(StoreAuthority)          the store's, not made here
//	  etcd-client
//
// While they are rotated there are next-ca, which signs what its Successor says in place of ca, and next-sa.
func ControlPlane(p ControlPlaneParams) (Set, error) {
	service, serviceErr := firstAddress(p.ServiceCIDR)
	names, ips, extraErr := sortHosts("extraSANs", p.ExtraSANs)
	if err := errors.Join(p.check(), serviceErr, extraErr); err != nil {
		return Set{}, err
	}
	names = append(names, "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+p.DNSDomain, "localhost", p.SNIHost)
	ips = append(ips, netip.AddrFrom4([4]byte{127, 0, 0, 1}), service)
	if p.AdvertiseAddress.IsValid() {
		ips = append(ips, p.AdvertiseAddress)
	}
	// system:masters is not subject to RBAC. KQueen's own two identities are in it so that it can still repair a cluster whose owner has deleted the bindings
	// that kubeadm's group kubeadm:cluster-admins needs, and so that logs and exec work before any binding exists. The reason against it, that such a
	// certificate cannot be revoked, weighs less here: these keys never leave the control plane's host.
	masters := []string{"system:masters"}
	leaf := func(name, authority, commonName string, groups ...string) Leaf {
		return Leaf{Name: name, Authority: authority, CommonName: commonName, Organizations: groups, Usage: Client, Lifetime: leafLife}
	}
	servers, clients := p.Successor.signers()
	server := leaf("apiserver", servers, "kube-apiserver")
	server.Usage, server.DNSNames, server.IPs = Server, names, ips
	set := Set{
		Authorities: []Authority{
			{Name: authorityCA, CommonName: firstName + p.UID, Lifetime: authorityLife},
			{Name: "front-proxy-ca", CommonName: "front-proxy-ca@" + p.UID, Lifetime: authorityLife},
		},
		SigningKeys: []string{signingKeySA},
		Leaves: []Leaf{
			server.normal(),
			leaf("apiserver-kubelet-client", servers, "kube-apiserver-kubelet-client", masters...),
			leaf("front-proxy-client", "front-proxy-ca", "front-proxy-client"),
			leaf("controller-manager", clients, "system:kube-controller-manager"),
			leaf("scheduler", clients, "system:kube-scheduler"),
			leaf("admin", clients, "kubernetes-admin", masters...),
			leaf("etcd-client", p.StoreAuthority, p.StoreUser),
		},
	}
	if p.Successor != nil {
		set.Authorities = append(set.Authorities, Authority{
			Name: nextPrefix + authorityCA, CommonName: successorName + p.Successor.ID + "@" + p.UID, Lifetime: authorityLife,
		})
	}
	if p.NextSigningKey {
		set.SigningKeys = append(set.SigningKeys, nextPrefix+signingKeySA)
	}
	return set, nil
}

// check covers all fields but ServiceCIDR and ExtraSANs.
func (p ControlPlaneParams) check() error {
	var problems []error
	add := func(field string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field, err))
		}
	}
	add("uid", checkUID(p.UID))
	add("dnsDomain", checkDNSName(p.DNSDomain))
	add("sniHost", checkDNSName(p.SNIHost))
	if p.AdvertiseAddress.IsValid() {
		add("advertiseAddress", checkAddress(p.AdvertiseAddress))
	}
	if !isLabel(p.StoreAuthority) || slices.Contains([]string{authorityCA, nextPrefix + authorityCA, "front-proxy-ca"}, p.StoreAuthority) {
		add("storeAuthority", fmt.Errorf("%q: must be a name of a-z, 0-9 and -, and not one of this control plane's own authorities", p.StoreAuthority))
	}
	add("storeUser", checkStoreUser(p.StoreUser))
	if p.Successor != nil && (!isLabel(p.Successor.ID) || len(p.Successor.ID) > longestSuccessor) {
		add("successor.id", fmt.Errorf("%q: must be 1 to %d of a-z, 0-9 and -", p.Successor.ID, longestSuccessor))
	}
	return errors.Join(problems...)
}

func checkUID(uid string) error {
	if !isLabel(uid) || len(uid) > longestUID {
		return fmt.Errorf("%q: must be 1 to %d of a-z, 0-9 and -", uid, longestUID)
	}
	return nil
}

// checkStoreUser keeps a control plane from being given the store's administrator: etcd takes the user from the common name and asks for nothing else.
func checkStoreUser(user string) error {
	if user == storeAdministrator {
		return fmt.Errorf("%q: must not be the administrator of the store", user)
	}
	if user == "" || len(user) > longestCommonName || strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q: must be 1 to %d printable ASCII characters without spaces", user, longestCommonName)
	}
	return nil
}

// firstAddress returns the first address after the network's own, which kube-apiserver gives to the Service "kubernetes".
func firstAddress(cidr string) (netip.Addr, error) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("serviceCIDR: %q: must be an address range such as 10.96.0.0/16", cidr)
	}
	addr := prefix.Addr()
	if prefix != prefix.Masked() {
		return netip.Addr{}, fmt.Errorf("serviceCIDR: %q: begins inside the range, write %s", cidr, prefix.Masked())
	}
	if addr.Is4In6() || addr.BitLen()-prefix.Bits() < leastServiceAddressBits {
		return netip.Addr{}, fmt.Errorf("serviceCIDR: %q: must be plain IPv4 or IPv6 and hold at least %d addresses", cidr, 1<<leastServiceAddressBits)
	}
	first := addr.Next()
	if err := checkAddress(first); err != nil {
		return netip.Addr{}, fmt.Errorf("serviceCIDR: %q: first address %w", cidr, err)
	}
	return first, nil
}
