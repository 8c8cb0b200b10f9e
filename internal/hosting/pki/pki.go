// Package pki is the table of every key and certificate of one hosted control plane and of the shared etcd: what there must be, what of it has to be made
// new and why, and the kubeconfigs that carry it.
//
// A table (Set) says what there must be: ControlPlane and Store return the two of KQueen, and any other Set can be written by hand (a user's certificate for
// an hour, say). Issue brings a Bundle to its table and RenewAt says when to call it again.
//
// It hides X.509, PEM and the rules of renewal. It is pure but for randomness: the time is a parameter, and it opens no file and no connection. A program that keeps
// a bundle (a directory, a Secret) may use it.
//
// Two kinds of entries are told apart. Leaves are made new whenever they do not fit. Roots of trust (authorities and signing keys) are made once and never
// replaced, because every node, user and token of the cluster hangs on them (an authority for other domains keeps its key); when one is unusable, Issue returns a TrustError and makes nothing.
package pki

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Bundle holds PEM text by file name, as it lies in a pki directory: "ca.crt", "ca.key", "sa.key", "sa.pub", "apiserver.crt". An empty entry counts as
// missing. Treat the values as read-only: bundles share them.
type Bundle map[string][]byte

const (
	certSuffix   = ".crt"
	keySuffix    = ".key"
	publicSuffix = ".pub"
)

// Names returns the file names in the order in which they must be written to a place that cannot take all at once: keys first. A writer that dies half-way then
// leaves a bundle that Issue completes. The other order can leave an authority without its key, which nothing can repair.
func (b Bundle) Names() []string {
	return slices.SortedFunc(maps.Keys(b), func(x, y string) int {
		if kx, ky := strings.HasSuffix(x, keySuffix), strings.HasSuffix(y, keySuffix); kx != ky {
			if kx {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	})
}

// Signer returns the authority called name under the name as, for the signers of another bundle's Issue: store.Signer("ca", "store-ca"). What the bundle does
// not hold is left out.
func (b Bundle) Signer(name, as string) Bundle {
	out := Bundle{}
	for _, suffix := range []string{certSuffix, keySuffix} {
		if data := b[name+suffix]; len(data) > 0 {
			out[as+suffix] = data
		}
	}
	return out
}

// Equal reports whether both bundles hold the same names with the same bytes.
func (b Bundle) Equal(other Bundle) bool {
	return maps.EqualFunc(b, other, bytes.Equal)
}

// String lists the names only, so that a bundle in a log line gives no key away.
func (b Bundle) String() string { return "pki.Bundle" + fmt.Sprint(b.Names()) }

// GoString is String, for %#v.
func (b Bundle) GoString() string { return b.String() }

// Set says which authorities, signing keys and leaf certificates there must be.
type Set struct {
	// Authorities are certificate authorities: NAME.crt and NAME.key.
	Authorities []Authority
	// SigningKeys are names of key pairs without a certificate: NAME.key (private) and NAME.pub (public).
	SigningKeys []string
	// Leaves are end certificates: NAME.crt and NAME.key.
	Leaves []Leaf
}

// Authority is a self-signed certificate authority that signs leaves only.
type Authority struct {
	// Name is the file stem: "ca".
	Name string
	// CommonName is used when the authority is made. One that already exists keeps its own.
	CommonName string
	// Lifetime counts from the moment of making.
	Lifetime time.Duration
	// Domains are those below which it signs, and it signs no address then; empty for any name. With others, an authority that
	// exists gets another certificate for its key.
	Domains []string
}

// Usage says at which end of a TLS connection a leaf may stand.
type Usage int

// The usages. The zero Usage is invalid.
const (
	Client Usage = iota + 1
	Server
	// Peer is both: one end of connections between equals.
	Peer
)

// String returns the usage in words.
func (u Usage) String() string {
	switch u {
	case Client:
		return "client"
	case Server:
		return "server"
	case Peer:
		return "client and server"
	}
	return fmt.Sprintf("usage %d", int(u))
}

// Leaf is an end certificate and its key.
type Leaf struct {
	// Name is the file stem: "apiserver".
	Name string
	// Authority names who signs: one of the Set's authorities, or one of the signers given to Issue.
	Authority string
	// CommonName is the user name in Kubernetes and in etcd.
	CommonName string
	// Organizations are the groups in Kubernetes. Order and repetition mean nothing, here and in the two below.
	Organizations []string
	Usage         Usage
	DNSNames      []string
	IPs           []netip.Addr
	// Lifetime counts from the moment of issue, and ends with the authority's at the latest. A changed Lifetime takes effect at the next renewal.
	Lifetime time.Duration
}

const (
	// clockSkew is how far in the past a new certificate begins, for machines whose clock is behind ours.
	clockSkew = 5 * time.Minute
	// shortest is the least Lifetime of anything, and what an authority must have left to sign: a leaf of less would be due for renewal as soon as it is made,
	// since its life begins clockSkew ago.
	shortest = 10 * time.Minute
	// longestCommonName is ub-common-name of RFC 5280, appendix A.1.
	longestCommonName = 64
)

// validate reports the first entry of the set that cannot be made.
func (s Set) validate() error {
	seen := map[string]bool{}
	stem := func(name string) error {
		if !isLabel(name) {
			return fmt.Errorf("name %q: must be 1 to 63 of a-z, 0-9 and - (it becomes a file name)", name)
		}
		if seen[name] {
			return fmt.Errorf("name %q: must be used once in a set", name)
		}
		seen[name] = true
		return nil
	}
	for _, a := range s.Authorities {
		if err := stem(a.Name); err != nil {
			return err
		}
		if err := a.validate(); err != nil {
			return fmt.Errorf("authority %s: %w", a.Name, err)
		}
	}
	for _, name := range s.SigningKeys {
		if err := stem(name); err != nil {
			return err
		}
	}
	for _, l := range s.Leaves {
		if err := stem(l.Name); err != nil {
			return err
		}
		if err := l.validate(); err != nil {
			return fmt.Errorf("leaf %s: %w", l.Name, err)
		}
	}
	return nil
}

func validateCommon(commonName string, lifetime time.Duration) error {
	if commonName == "" || len(commonName) > longestCommonName {
		return fmt.Errorf("common name %q: must be 1 to %d bytes long", commonName, longestCommonName)
	}
	if lifetime < shortest {
		return fmt.Errorf("lifetime %s: must be at least %s", lifetime, shortest)
	}
	return nil
}

func (a Authority) validate() error {
	for _, domain := range a.Domains {
		if err := checkDNSName(domain); err != nil {
			return err
		}
	}
	return validateCommon(a.CommonName, a.Lifetime)
}

func (l Leaf) validate() error {
	if err := validateCommon(l.CommonName, l.Lifetime); err != nil {
		return err
	}
	if !isLabel(l.Authority) {
		return fmt.Errorf("authority %q: must name who signs it", l.Authority)
	}
	if l.Usage < Client || l.Usage > Peer {
		return fmt.Errorf("%s: must be Client, Server or Peer", l.Usage)
	}
	if l.Usage != Client && len(l.DNSNames)+len(l.IPs) == 0 {
		return fmt.Errorf("usage %s: needs at least one DNS name or IP address, since clients look at nothing else", l.Usage)
	}
	for _, name := range l.DNSNames {
		if err := checkDNSName(strings.TrimPrefix(name, "*.")); err != nil {
			return err
		}
	}
	for _, ip := range l.IPs {
		if err := checkAddress(ip); err != nil {
			return err
		}
	}
	return nil
}

// normal returns the leaf with its lists sorted, without repetitions, in one spelling each, so that equal meaning is equal value.
func (l Leaf) normal() Leaf {
	l.Organizations = sorted(l.Organizations, strings.Compare)
	names := make([]string, 0, len(l.DNSNames))
	for _, name := range l.DNSNames {
		names = append(names, strings.ToLower(name))
	}
	l.DNSNames = sorted(names, strings.Compare)
	ips := make([]netip.Addr, 0, len(l.IPs))
	for _, ip := range l.IPs {
		ips = append(ips, ip.Unmap())
	}
	l.IPs = sorted(ips, netip.Addr.Compare)
	return l
}

func sorted[T comparable](in []T, compare func(a, b T) int) []T {
	out := slices.Clone(in)
	slices.SortFunc(out, compare)
	return slices.Compact(out)
}
