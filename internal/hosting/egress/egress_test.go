package egress

import (
	"errors"
	"net/netip"
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
		"198.51.100.4:22":    "refused: it is neither a pod nor a Service of the cluster nor a kubelet (port 10250); " + instead,
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
		"[64:ff9b::127.0.0.1]:10250":    "refused: the address is special; " + instead,
		"[64:ff9b::a9fe:a9fe]:80":       "refused: the address is special; " + instead,
		"[64:ff9b:1::10.223.1.2]:10250": "refused: the address is special; " + instead,
		"[2002:7f00:1::]:10250":         "refused: the address is special; " + instead,
		"[2001:0:7f00:1::]:10250":       "refused: the address is special; " + instead,
		"224.0.0.1:10250":               "refused: the address is special; " + instead,
	} {
		t.Run(target, func(t *testing.T) {
			within, err := inside(entry, netip.MustParseAddrPort(target), machines, own)
			got := "direct"
			if within {
				got = "inside"
			}
			if refused, ok := errors.AsType[*refusedError](err); ok {
				got = "refused: " + refused.reason
			} else if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestParseMark(t *testing.T) {
	for _, c := range []struct {
		name, data, err string
		want            Mark
	}{
		{name: "entry", data: `{"cluster":"a","ranges":["10.244.0.0/16"]}`, want: Mark{Cluster: "a", Ranges: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}},
		{name: "exit", data: `{"cluster":"a","machine":"10.223.0.2"}`, want: Mark{Cluster: "a", Machine: netip.MustParseAddr("10.223.0.2")}},
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
