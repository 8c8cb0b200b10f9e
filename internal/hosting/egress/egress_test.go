package egress

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestInside(t *testing.T) {
	entry := Mark{Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16")},
		Kubelets: []netip.Addr{netip.MustParseAddr("10.223.0.2"), netip.MustParseAddr("10.223.1.2"), netip.MustParseAddr("198.51.100.4"), netip.MustParseAddr("203.0.113.7")}}
	machines := []Mark{
		{Cluster: "a", Machine: netip.MustParseAddr("10.223.0.2")},
		{Cluster: "b", Machine: netip.MustParseAddr("10.223.1.2")},
	}
	own := []netip.Addr{netip.MustParseAddr("10.223.0.1"), netip.MustParseAddr("203.0.113.7")}
	for target, want := range map[string]string{
		"10.244.1.5:8443":    "inside",
		"10.96.0.10:53":      "inside",
		"10.223.0.2:10250":   "direct",
		"10.223.0.2:30080":   "direct",
		"198.51.100.4:10250": "direct", // a machine that a user has joined
		"198.51.100.4:22":    "refused: " + unlisted,
		"198.51.100.5:10250": "refused: it is not the recorded address of a machine of the cluster",
		"10.223.1.2:10250":   "refused: it is a machine of another cluster",
		"10.223.0.1:10250":   "refused: it is an address of the host; " + instead,
		"203.0.113.7:10250":  "refused: it is an address of the host; " + instead,
		"127.0.0.1:10250":    "refused: the address is special; " + instead,
		"[::1]:10250":        "refused: the address is special; " + instead,
		"0.0.0.0:10250":      "refused: the address is special; " + instead,
		"169.254.169.254:80": "refused: the address is special; " + instead,
		// Written in IPv6, they are the same.
		"[::127.0.0.1]:10250":           "refused: the address is special; " + instead,
		"[::ffff:127.0.0.1]:10250":      "refused: the address is special; " + instead,
		"[64:ff9b::127.0.0.1]:10250":    "refused: the address is special; " + instead,
		"[64:ff9b::a9fe:a9fe]:80":       "refused: the address is special; " + instead,
		"[64:ff9b:1::10.223.1.2]:10250": "refused: the address is special; " + instead,
		"[2002:7f00:1::]:10250":         "refused: the address is special; " + instead,
		"[2001:0:7f00:1::]:10250":       "refused: the address is special; " + instead,
		"224.0.0.1:10250":               "refused: the address is special; " + instead,
	} {
		t.Run(target, func(t *testing.T) {
			if got := decided(t, entry, target, machines, own); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

const unlisted = "it is neither a pod nor a Service of the cluster nor a kubelet (port 10250), nor does an administrator of the installation allow it; " + instead

// decided says in a word where a call goes, or why it does not.
func decided(t *testing.T, entry Mark, target string, machines []Mark, own []netip.Addr) string {
	t.Helper()
	within, err := inside(entry, netip.MustParseAddrPort(target), machines, own)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return "refused: " + refused.reason
	}
	if err != nil {
		t.Fatal(err)
	}
	if within {
		return "inside"
	}
	return "direct"
}

// TestInsideAllowed: what administrators allow is called by address and port. What belongs to the host, its machines, other
// clusters and kubelets is not, whatever is allowed.
func TestInsideAllowed(t *testing.T) {
	machines := []Mark{
		{Cluster: "a", Machine: netip.MustParseAddr("10.223.0.2")},
		{Cluster: "b", Machine: netip.MustParseAddr("10.223.1.2")},
		{Cluster: "b", Machine: netip.MustParseAddr("192.0.2.40")}, // of a network of machines that the host had before
	}
	own := []netip.Addr{netip.MustParseAddr("10.223.0.1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
	all := make([]Destination, 0, 3*2)
	for _, port := range []uint16{80, 443, kubeletPort} {
		all = append(all, Destination{netip.MustParsePrefix("0.0.0.0/0"), port}, Destination{netip.MustParsePrefix("::/0"), port})
	}
	of := func(list ...Destination) Mark {
		return Mark{
			Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, Kubelets: []netip.Addr{netip.MustParseAddr("198.51.100.4")},
			Closed: []netip.Prefix{netip.MustParsePrefix("10.223.0.0/16")}, Allowed: list,
		}
	}
	some := of(destination(t, "192.0.2.0/28:443"), destination(t, "203.0.113.7:8443"), destination(t, "[2001:db8:1::/64]:443"))
	const specials, host, network = "refused: the address is special; " + instead, "refused: it is an address of the host; " + instead, "refused: it is in the network of the host's machines; " + instead
	const kubelet, cloud, other = "refused: it is not the recorded address of a machine of the cluster", "refused: it is the metadata of a cloud; " + instead, "refused: it is a machine of another cluster"
	for name, c := range map[string]struct {
		entry        Mark
		target, want string
	}{
		"FirstOfRange":    {some, "192.0.2.0:443", "direct"},
		"LastOfRange":     {some, "192.0.2.15:443", "direct"},
		"BeyondRange":     {some, "192.0.2.16:443", "refused: " + unlisted},
		"OtherPort":       {some, "192.0.2.2:80", "refused: " + unlisted},
		"OneAddress":      {some, "203.0.113.7:8443", "direct"},
		"ItsNeighbour":    {some, "203.0.113.8:8443", "refused: " + unlisted},
		"PortOfAnother":   {some, "203.0.113.7:443", "refused: " + unlisted},
		"IPv6":            {some, "[2001:db8:1::5]:443", "direct"},
		"IPv6Beyond":      {some, "[2001:db8:2::5]:443", "refused: " + unlisted},
		"IPv6WithZone":    {some, "[2001:db8:1::5%eth0]:443", specials},
		"HostInRange":     {some, "192.0.2.1:443", host},
		"Mapped":          {some, "[::ffff:192.0.2.2]:443", specials},
		"NAT64":           {some, "[64:ff9b::192.0.2.2]:443", specials},
		"NothingAllowed":  {of(), "192.0.2.2:443", "refused: " + unlisted},
		"Pod":             {of(destination(t, "10.244.0.0/16:443")), "10.244.1.5:443", "inside"},
		"OwnMachine":      {of(), "10.223.0.2:30080", "direct"},
		"OwnKubelet":      {of(all...), "198.51.100.4:10250", "direct"},
		"OtherKubelet":    {of(all...), "198.51.100.5:10250", kubelet},
		"Anything":        {of(all...), "198.51.100.5:443", "direct"},
		"Loopback":        {of(all...), "127.0.0.1:443", specials},
		"LoopbackIPv6":    {of(all...), "[::1]:443", specials},
		"ThisHost":        {of(all...), "0.0.0.0:443", specials},
		"ThisHostIPv6":    {of(all...), "[::]:443", specials},
		"LinkLocal":       {of(all...), "169.254.169.254:80", specials},
		"LinkLocalIPv6":   {of(all...), "[fe80::1]:443", specials},
		"LinkLocalZone":   {of(all...), "[fe80::1%eth0]:443", specials},
		"Group":           {of(all...), "224.0.0.1:443", specials},
		"MappedLoopback":  {of(all...), "[::ffff:127.0.0.1]:443", specials},
		"NAT64Metadata":   {of(all...), "[64:ff9b::a9fe:a9fe]:80", specials},
		"NAT64Local":      {of(all...), "[64:ff9b:1::10.223.1.2]:443", specials},
		"6to4":            {of(all...), "[2002:7f00:1::]:443", specials},
		"Host":            {of(all...), "192.0.2.1:443", host},
		"HostIPv6":        {of(all...), "[2001:db8::1]:443", host},
		"HostOnBridge":    {of(all...), "10.223.0.1:443", host},
		"OtherMachine":    {of(all...), "10.223.1.2:443", other},
		"OldMachine":      {of(all...), "192.0.2.40:443", other},
		"MachineNetwork":  {of(all...), "10.223.7.7:443", network},
		"MetadataAWS":     {of(all...), "[fd00:ec2::254]:80", cloud},
		"MetadataAzure":   {of(all...), "168.63.129.16:80", cloud},
		"MetadataKubelet": {of(all...), "100.100.100.200:10250", cloud},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decided(t, c.entry, c.target, machines, own); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, c := range slices.Concat(special, metadata) {
		target := netip.AddrPortFrom(c.Range.Addr(), 443).String()
		if got := decided(t, of(all...), target, nil, nil); !strings.HasPrefix(got, "refused: ") {
			t.Errorf("%s, of %s, is %s", target, c.As, got)
		}
	}
}

func TestParseMark(t *testing.T) {
	for _, c := range []struct {
		name, data, err string
		want            Mark
	}{
		{name: "entry", data: `{"cluster":"a","ranges":["10.244.0.0/16"]}`, want: Mark{Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}},
		{name: "exit", data: `{"cluster":"a","machine":"10.223.0.2"}`, want: Mark{Cluster: "a", Machine: netip.MustParseAddr("10.223.0.2")}},
		{name: "entry with lists", data: `{"cluster":"a","ranges":["10.244.0.0/16"],"allowed":["192.0.2.7:443"],"closed":["10.223.0.0/16"]}`, want: Mark{
			Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
			Allowed: []Destination{{netip.MustParsePrefix("192.0.2.7/32"), 443}}, Closed: []netip.Prefix{netip.MustParsePrefix("10.223.0.0/16")},
		}},
		{name: "an empty entry of a list", data: `{"cluster":"a","ranges":["10.244.0.0/16"],"allowed":[null]}`, err: "allowed: an entry of the list is empty"},
		{name: "a host's name in a list", data: `{"cluster":"a","ranges":["10.244.0.0/16"],"allowed":["a.example:443"]}`, err: `"a.example:443" has neither an address nor a range; write ` + wanted},
		{name: "no cluster's", data: `{"machine":"10.223.0.2"}`, err: "cluster: is empty"},
		{name: "an entry to nothing", data: `{"cluster":"a"}`, err: "ranges: an entry needs those of its cluster"},
		{name: "cut off", data: `{"cluster":"a`, err: "unexpected end of JSON input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseMark([]byte(c.data))
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err {
				t.Fatalf("got error %q, want %q", said, c.err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add([]byte(`{"cluster":"a","ranges":["10.244.0.0/16"],"machine":"10.223.0.2"}`))
	f.Add([]byte(`{"cluster":"a","ranges":["10.244.0.0/16"],"allowed":["192.0.2.0/24:443","[2001:db8::]:1",null],"closed":["10.223.0.0/16"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMark(data)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseMark(again); err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
	})
}
