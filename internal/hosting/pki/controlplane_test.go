package pki

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func addrs(in ...string) (out []netip.Addr) {
	for _, s := range in {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func TestControlPlaneTable(t *testing.T) {
	const year = 365 * 24 * time.Hour
	client := func(name, authority, user string, groups ...string) Leaf {
		return Leaf{Name: name, Authority: authority, CommonName: user, Organizations: groups, Usage: Client, Lifetime: year}
	}
	want := Set{
		Authorities: []Authority{
			{Name: "ca", CommonName: "kubernetes-ca@a1", Lifetime: 10 * year},
			{Name: "front-proxy-ca", CommonName: "front-proxy-ca@a1", Lifetime: 10 * year},
		},
		SigningKeys: []string{"sa"},
		Leaves: []Leaf{
			{
				Name: "apiserver", Authority: "ca", CommonName: "kube-apiserver", Usage: Server, Lifetime: year,
				DNSNames: []string{
					"*.api.example.org", "a1.acme.kqueen.example", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
					"kubernetes.default.svc.cluster.local", "localhost",
				},
				IPs: addrs("10.96.0.1", "127.0.0.1", "192.0.2.10", "2001:db8::1"),
			},
			client("apiserver-kubelet-client", "ca", "kube-apiserver-kubelet-client", "system:masters"),
			client("front-proxy-client", "front-proxy-ca", "front-proxy-client"),
			client("controller-manager", "ca", "system:kube-controller-manager"),
			client("scheduler", "ca", "system:kube-scheduler"),
			client("admin", "ca", "kubernetes-admin", "system:masters"),
			client("etcd-client", "store-ca", "kq-a1"),
		},
	}
	if diff := cmp.Diff(want, controlPlaneSet(t, params("a1")), byAddr); diff != "" {
		t.Errorf("ControlPlane (-want +got):\n%s", diff)
	}
}

func TestControlPlaneTakesOddButValidParams(t *testing.T) {
	cases := map[string]struct {
		alter func(*ControlPlaneParams)
		want  string
	}{
		"NoAdvertiseAddress": {alter: func(p *ControlPlaneParams) { p.AdvertiseAddress = netip.Addr{} }, want: "10.96.0.1"},
		"IPv6":               {alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "fd00:10::/108" }, want: "fd00:10::1"},
		"Smallest":           {alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "10.0.0.8/29" }, want: "10.0.0.9"},
		"LongestUID":         {alter: func(p *ControlPlaneParams) { p.UID = strings.Repeat("u", 49) }, want: "10.96.0.1"},
		"Loopback":           {alter: func(p *ControlPlaneParams) { p.AdvertiseAddress = netip.MustParseAddr("127.0.0.7") }, want: "127.0.0.7"},
	}
	signers := newFixture(t, start).signers
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := params("a1")
			tc.alter(&p)
			got, _ := issue(t, nil, controlPlaneSet(t, p), signers, start)
			if err := certificate(t, got, "apiserver").VerifyHostname(tc.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// fields returns the field names at the begin of each line of an error.
func fields(err error) (out []string) {
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		field, _, _ := strings.Cut(line, ":")
		out = append(out, field)
	}
	return out
}

func TestControlPlaneNamesTheFieldThatIsWrong(t *testing.T) {
	cases := map[string]struct {
		reason string
		alter  func(*ControlPlaneParams)
		want   []string
	}{
		"Empty": {
			reason: "all at once", alter: func(p *ControlPlaneParams) { *p = ControlPlaneParams{} },
			want: []string{"uid", "dnsDomain", "sniHost", "storeAuthority", "storeUser", "serviceCIDR"},
		},
		"UIDTooLong":    {reason: "X.509 allows 64 bytes", alter: func(p *ControlPlaneParams) { p.UID = strings.Repeat("u", 50) }, want: []string{"uid"}},
		"UIDCharacters": {reason: "must be readable in a name", alter: func(p *ControlPlaneParams) { p.UID = "a/b" }, want: []string{"uid"}},
		"DNSDomain":     {reason: "trailing dot", alter: func(p *ControlPlaneParams) { p.DNSDomain = "cluster.local." }, want: []string{"dnsDomain"}},
		"SNIHostIsIP":   {reason: "SNI carries no addresses", alter: func(p *ControlPlaneParams) { p.SNIHost = "192.0.2.1" }, want: []string{"sniHost"}},
		"HostBits":      {reason: "a typo", alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "10.96.0.5/16" }, want: []string{"serviceCIDR"}},
		"NoRange":       {reason: "not a range", alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "10.96.0.0" }, want: []string{"serviceCIDR"}},
		"TooSmall":      {reason: "kube-apiserver wants 8", alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "10.96.0.0/30" }, want: []string{"serviceCIDR"}},
		"Multicast":     {reason: "not a host's", alter: func(p *ControlPlaneParams) { p.ServiceCIDR = "224.0.0.0/16" }, want: []string{"serviceCIDR"}},
		"Unspecified": {
			reason: "not one host's", alter: func(p *ControlPlaneParams) { p.AdvertiseAddress = netip.IPv4Unspecified() }, want: []string{"advertiseAddress"},
		},
		"ExtraSANs": {
			reason: "each entry by its index",
			alter: func(p *ControlPlaneParams) {
				p.ExtraSANs = []string{"ok.example.org", "10.0.0.300", "https://x", "fe80::1%eth0", "a*.example.org", "", "0.0.0.0", "-x"}
			},
			want: []string{"extraSANs[1]", "extraSANs[2]", "extraSANs[3]", "extraSANs[4]", "extraSANs[5]", "extraSANs[6]", "extraSANs[7]"},
		},
		"StoreAuthority": {reason: "not its own", alter: func(p *ControlPlaneParams) { p.StoreAuthority = "ca" }, want: []string{"storeAuthority"}},
		"StoreUserRoot":  {reason: "not the administrator", alter: func(p *ControlPlaneParams) { p.StoreUser = "root" }, want: []string{"storeUser"}},
		"StoreUserSpace": {reason: "printable", alter: func(p *ControlPlaneParams) { p.StoreUser = "a b" }, want: []string{"storeUser"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := params("a1")
			tc.alter(&p)
			got, err := ControlPlane(p)
			if diff := cmp.Diff(tc.want, fields(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%v", tc.reason, diff, err)
			}
			if diff := cmp.Diff(Set{}, got, byAddr); diff != "" {
				t.Errorf("a set beside an error: %s", diff)
			}
		})
	}
}

func TestStoreTable(t *testing.T) {
	const year = 365 * 24 * time.Hour
	names, ips := []string{"etcd-0.example.org", "localhost"}, addrs("127.0.0.1", "192.0.2.20")
	want := Set{
		Authorities: []Authority{
			{Name: "ca", CommonName: "etcd-ca@default", Lifetime: 10 * year},
			{Name: "peer-ca", CommonName: "etcd-peer-ca@default", Lifetime: 10 * year},
		},
		Leaves: []Leaf{
			{Name: "server", Authority: "ca", CommonName: "etcd-server", Usage: Peer, DNSNames: names, IPs: ips, Lifetime: year},
			{Name: "peer", Authority: "peer-ca", CommonName: "etcd-peer", Usage: Peer, DNSNames: names, IPs: ips, Lifetime: year},
			{Name: "root", Authority: "ca", CommonName: "root", Usage: Client, Lifetime: year},
		},
	}
	if diff := cmp.Diff(want, storeSet(t), byAddr); diff != "" {
		t.Errorf("Store (-want +got):\n%s", diff)
	}
	_, err := Store(StoreParams{Hosts: []string{"", "ok"}})
	if diff := cmp.Diff([]string{"name", "hosts[0]"}, fields(err)); diff != "" {
		t.Errorf("Store of nothing (-want +got):\n%s", diff)
	}
}
