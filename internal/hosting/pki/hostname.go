package pki

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// isLabel reports whether s is one label of a DNS name in lower case (RFC 1123, section 2.1).
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// checkDNSName accepts a DNS name in any case, without a dot at its end. A last label of digits only is refused: that is a mistyped address, such as
// 10.0.0.300, and no top-level domain is all digits (RFC 3696, section 2).
func checkDNSName(name string) error {
	if len(name) > 253 {
		return fmt.Errorf("%q: a DNS name has at most 253 characters", name)
	}
	labels := strings.Split(strings.ToLower(name), ".")
	for _, label := range labels {
		if !isLabel(label) {
			return fmt.Errorf("%q: must be a DNS name such as api.example.org: labels of letters, digits and -, with single dots between", name)
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return fmt.Errorf("%q: neither an IP address nor a DNS name, whose last label is never a number", name)
	}
	return nil
}

// checkAddress accepts an address that a client can connect to and a certificate can name.
func checkAddress(ip netip.Addr) error {
	switch {
	case !ip.IsValid():
		return errors.New("the zero IP address: must be set")
	case ip.Zone() != "":
		return fmt.Errorf("%q: an address in a certificate has no zone, write %s", ip, ip.WithZone(""))
	case ip.Unmap().IsUnspecified(), ip.Unmap().IsMulticast():
		return fmt.Errorf("%q: must be the address of one host", ip)
	}
	return nil
}

// sortHosts tells DNS names (the first label may be *) from IP addresses. It returns one error for each entry that is neither, called field[i].
func sortHosts(field string, hosts []string) (names []string, ips []netip.Addr, err error) {
	var problems []error
	for i, host := range hosts {
		if ip, parseErr := netip.ParseAddr(host); parseErr == nil {
			if err := checkAddress(ip); err != nil {
				problems = append(problems, fmt.Errorf("%s[%d]: %w", field, i, err))
				continue
			}
			ips = append(ips, ip)
			continue
		}
		if err := checkDNSName(strings.TrimPrefix(host, "*.")); err != nil {
			problems = append(problems, fmt.Errorf("%s[%d]: %w", field, i, err))
			continue
		}
		names = append(names, host)
	}
	return names, ips, errors.Join(problems...)
}
