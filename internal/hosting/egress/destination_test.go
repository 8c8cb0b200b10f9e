package egress

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func destination(t *testing.T, text string) Destination {
	t.Helper()
	d, err := ParseDestination(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseDestination(t *testing.T) {
	const no = "refused: "
	for text, want := range map[string]string{
		"192.0.2.0/24:443":             "192.0.2.0/24:443",
		"192.0.2.7:443":                "192.0.2.7:443",
		"192.0.2.7/32:443":             "192.0.2.7:443",
		"0.0.0.0/0:1":                  "0.0.0.0/0:1",
		"[2001:db8::/64]:65535":        "[2001:db8::/64]:65535",
		"[2001:DB8::7]:443":            "[2001:db8::7]:443",
		"[2001:db8::7/128]:443":        "[2001:db8::7]:443",
		"":                             no + `"" is not an address and a port`,
		"192.0.2.7":                    no + `"192.0.2.7" is not an address and a port`,
		"192.0.2.0/24":                 no + `"192.0.2.0/24" is not an address and a port`,
		"2001:db8::/64:443":            no + `"2001:db8::/64:443" is not an address and a port`,
		"192.0.2.7:":                   no + `"192.0.2.7:" has no port from 1 to 65535`,
		"192.0.2.7:0":                  no + `"192.0.2.7:0" has no port from 1 to 65535`,
		"192.0.2.7:65536":              no + `"192.0.2.7:65536" has no port from 1 to 65535`,
		"192.0.2.7:https":              no + `"192.0.2.7:https" has no port from 1 to 65535`,
		"192.0.2.7:-1":                 no + `"192.0.2.7:-1" has no port from 1 to 65535`,
		"hooks.example.com:443":        no + `"hooks.example.com:443" has neither an address nor a range`,
		":443":                         no + `":443" has neither an address nor a range`,
		"192.0.2.0/33:443":             no + `"192.0.2.0/33:443" has neither an address nor a range`,
		"192.0.2:443":                  no + `"192.0.2:443" has neither an address nor a range`,
		"[fe80::1%eth0]:443":           no + `"[fe80::1%eth0]:443" has neither an address nor a range`,
		"[::ffff:192.0.2.7]:443":       no + `"[::ffff:192.0.2.7]:443" has an IPv4 address in the notation of IPv6`,
		"[::ffff:192.0.2.0/120]:443":   no + `"[::ffff:192.0.2.0/120]:443" has an IPv4 address in the notation of IPv6`,
		"192.0.2.7/24:443":             no + `"192.0.2.7/24:443" has bits beside its network; write 192.0.2.0/24:443, or one address without a length`,
		"[2001:db8::7/64]:443":         no + `"[2001:db8::7/64]:443" has bits beside its network; write [2001:db8::/64]:443, or one address without a length`,
		"192.0.2.7:443,203.0.113.7:80": no + `"192.0.2.7:443,203.0.113.7:80" is not an address and a port`,
	} {
		t.Run(text, func(t *testing.T) {
			d, err := ParseDestination(text)
			got := d.String()
			if err != nil {
				got = no + strings.TrimSuffix(err.Error(), "; write "+wanted)
			}
			if got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			if err != nil {
				return
			}
			data, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var again Destination
			if err := json.Unmarshal(data, &again); err != nil || again != d {
				t.Errorf("%s is read back as %v: %v", data, again, err)
			}
		})
	}
}

func TestCheckDestination(t *testing.T) {
	here := []Closed{
		{netip.MustParsePrefix("10.223.0.0/16"), "the network of machines"}, {netip.MustParsePrefix("192.0.2.1/32"), "an address of the host"},
	}
	for text, want := range map[string]string{
		"192.0.2.7:443":           "",
		"192.0.2.0/24:443":        "", // the host in it stays closed
		"100.64.0.0/10:443":       "", // and so does the metadata in it
		"[2001:db8::/64]:443":     "",
		"10.222.0.0/16:443":       "",
		"192.0.2.1:443":           "192.0.2.1:443 cannot be allowed: it overlaps 192.0.2.1/32, an address of the host",
		"10.223.7.0/24:443":       "10.223.7.0/24:443 cannot be allowed: it overlaps 10.223.0.0/16, the network of machines",
		"10.0.0.0/8:443":          "10.0.0.0/8:443 cannot be allowed: it overlaps 10.223.0.0/16, the network of machines",
		"0.0.0.0/0:443":           "0.0.0.0/0:443 cannot be allowed: it overlaps 127.0.0.0/8, the loopback addresses",
		"127.0.0.1:443":           "127.0.0.1:443 cannot be allowed: it overlaps 127.0.0.0/8, the loopback addresses",
		"[::1]:443":               "[::1]:443 cannot be allowed: it overlaps ::/96, IPv4 addresses in IPv6, and its loopback",
		"[::/0]:443":              "[::/0]:443 cannot be allowed: it overlaps fe80::/10, the link-local addresses",
		"169.254.169.254:80":      "169.254.169.254:80 cannot be allowed: it overlaps 169.254.0.0/16, the link-local addresses",
		"[fe80::/64]:443":         "[fe80::/64]:443 cannot be allowed: it overlaps fe80::/10, the link-local addresses",
		"224.0.0.1:443":           "224.0.0.1:443 cannot be allowed: it overlaps 224.0.0.0/4, the addresses of groups",
		"[64:ff9b::c000:207]:443": "[64:ff9b::c000:207]:443 cannot be allowed: it overlaps 64:ff9b::/96, IPv4 addresses in IPv6, and its loopback",
		"[fd00:ec2::254]:80":      "[fd00:ec2::254]:80 cannot be allowed: it overlaps fd00:ec2::254/128, the metadata of a cloud",
		"192.0.2.7:10250":         "192.0.2.7:10250 cannot be allowed: port 10250 is that of kubelets, of which an API server calls those of its own cluster alone",
	} {
		t.Run(text, func(t *testing.T) {
			got := ""
			if err := destination(t, text).Check(here); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if err := (Destination{}).Check(nil); err == nil {
		t.Error("an empty one is allowed")
	}
}
