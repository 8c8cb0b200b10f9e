package pki

import (
	"bytes"
	"crypto/x509"
	"errors"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIssueFromNothing(t *testing.T) {
	f := newFixture(t, start)
	got := f.bundle.Names()
	want := []string{
		"admin.key", "apiserver-kubelet-client.key", "apiserver.key", "ca.key", "controller-manager.key", "etcd-client.key", "front-proxy-ca.key",
		"front-proxy-client.key", "sa.key", "scheduler.key",
		"admin.crt", "apiserver-kubelet-client.crt", "apiserver.crt", "ca.crt", "controller-manager.crt", "etcd-client.crt", "front-proxy-ca.crt",
		"front-proxy-client.crt", "sa.pub", "scheduler.crt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in writing order (-want +got):\n%s", diff)
	}
	for name, data := range f.bundle {
		if bytes.Equal(data, f.signers["store-ca.key"]) {
			t.Errorf("%s is the store authority's key", name)
		}
	}
}

// TestIssueAfterDyingHalfWay writes a new bundle, and a renewed one, file by file in the order of Names and stops after each.
func TestIssueAfterDyingHalfWay(t *testing.T) {
	f := newFixture(t, start)
	later := start.Add(leafLife)
	renewed, _ := issue(t, f.bundle, f.want, f.signers, later)
	cases := map[string]struct {
		before, written Bundle
		now             time.Time
	}{
		"New":     {before: Bundle{}, written: f.bundle, now: start},
		"Renewed": {before: f.bundle, written: renewed, now: later},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			disk := maps.Clone(tc.before)
			for _, file := range tc.written.Names() {
				disk[file] = tc.written[file]
				got, _ := issue(t, disk, f.want, f.signers, tc.now)
				for _, root := range []string{"ca.key", "front-proxy-ca.key", "sa.key"} {
					if disk[root] != nil && !bytes.Equal(disk[root], got[root]) {
						t.Errorf("after %s: %s was replaced", file, root)
					}
				}
				if again, changes := issue(t, got, f.want, f.signers, tc.now); !again.Equal(got) {
					t.Errorf("after %s: not finished at once: %v", file, changes)
				}
			}
		})
	}
}

func TestRenewAt(t *testing.T) {
	f := newFixture(t, start)
	at, err := RenewAt(f.bundle, f.want)
	if err != nil {
		t.Fatal(err)
	}
	if want := start.Add(-clockSkew).Add((leafLife + clockSkew) / 10 * 7).Truncate(time.Second); !at.Equal(want) {
		t.Errorf("RenewAt: want %s, got %s", want, at)
	}

	// The first one counts. Its life of 65 minutes is not a whole number of tenths in seconds, so rounding shows.
	f.want.Leaves = append(f.want.Leaves, Leaf{Name: "brief", Authority: "ca", CommonName: "x", Usage: Client, Lifetime: time.Hour + time.Second})
	f.bundle, _ = issue(t, f.bundle, f.want, f.signers, start)
	if at, err = RenewAt(f.bundle, f.want); err != nil || !at.Before(start.Add(time.Hour)) {
		t.Fatalf("RenewAt: want within the hour, got %s, %v", at, err)
	}
	if !at.Equal(at.Truncate(time.Second)) {
		t.Errorf("RenewAt: want whole seconds, got %s", at)
	}
	if _, changes := issue(t, f.bundle, f.want, f.signers, at.Add(-time.Second)); len(changes) > 0 {
		t.Errorf("a second before RenewAt: %v", changes)
	}
	got, changes := issue(t, f.bundle, f.want, f.signers, at)
	if diff := cmp.Diff([]Change{{Name: "brief", Reason: Due}}, changes, ignoreDetail); diff != "" {
		t.Errorf("at RenewAt (-want +got):\n%s", diff)
	}
	if next, err := RenewAt(got, f.want); err != nil || !next.After(at) {
		t.Errorf("RenewAt after renewal: want later than %s, got %s, %v", at, next, err)
	}

	delete(f.bundle, "brief.crt")
	if _, err := RenewAt(f.bundle, f.want); err == nil {
		t.Error("RenewAt without a leaf: want an error")
	}
	if at, err := RenewAt(nil, Set{}); err != nil || !at.IsZero() {
		t.Errorf("RenewAt of the empty set: want zero, got %s, %v", at, err)
	}
}

// TestLeavesEndWithTheirAuthority renews until the authority's end. Every renewal must bring a later RenewAt, or a caller would spin.
func TestLeavesEndWithTheirAuthority(t *testing.T) {
	want := Set{
		Authorities: []Authority{{Name: "ca", CommonName: "brief", Lifetime: 24 * time.Hour}},
		Leaves:      []Leaf{{Name: "user", Authority: "ca", CommonName: "x", Usage: Client, Lifetime: leafLife}},
	}
	b, _ := issue(t, nil, want, nil, start)
	end := certificate(t, b, "ca").NotAfter
	for now := start; ; {
		if got := certificate(t, b, "user").NotAfter; got.After(end) {
			t.Fatalf("leaf ends %s, its authority %s", got, end)
		}
		next, err := RenewAt(b, want)
		if err != nil || !next.After(now) {
			t.Fatalf("RenewAt at %s: want later, got %s, %v", now, next, err)
		}
		now = next
		var trust *TrustError
		if b, _, err = Issue(b, want, nil, now); errors.As(err, &trust) {
			if trust.Reason != Expired || now.Add(shortest).Before(end) {
				t.Errorf("at %s, authority ends %s: %v", now, end, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatCertificatesSay(t *testing.T) {
	f := newFixture(t, start)
	serials := map[string]bool{}
	check := func(name string, ok bool, what string) {
		if !ok {
			t.Errorf("%s: %s", name, what)
		}
	}
	inspect := func(name string, ca *x509.Certificate, life time.Duration) *x509.Certificate {
		cert := certificate(t, f.bundle, name)
		check(name, cert.SerialNumber.Sign() > 0 && cert.SerialNumber.BitLen() <= 128 && cert.SerialNumber.BitLen() > 64, "serial number is not 128 random bits")
		check(name, !serials[cert.SerialNumber.String()], "serial number is used twice")
		serials[cert.SerialNumber.String()] = true
		check(name, len(cert.SubjectKeyId) == 20, "has no subject key id")
		if ca == nil {
			ca = cert
		}
		check(name, bytes.Equal(cert.AuthorityKeyId, ca.SubjectKeyId), "authority key id is not the authority's")
		check(name, cert.BasicConstraintsValid, "has no basic constraints")
		check(name, cert.NotBefore.Equal(start.Add(-5*time.Minute)), "does not begin 5 minutes ago")
		check(name, cert.NotAfter.Equal(start.Add(life)), "ends at the wrong time")
		check(name, cert.PublicKeyAlgorithm == x509.ECDSA, "key is not ECDSA")
		return cert
	}
	authorities := map[string]*x509.Certificate{"store-ca": certificate(t, f.signers, "store-ca")}
	for _, a := range f.want.Authorities {
		cert := inspect(a.Name, nil, 10*365*24*time.Hour)
		check(a.Name, cert.IsCA && cert.MaxPathLen == 0 && cert.MaxPathLenZero, "is not an authority for leaves only")
		check(a.Name, cert.KeyUsage == x509.KeyUsageCertSign|x509.KeyUsageCRLSign|x509.KeyUsageDigitalSignature, "key usage")
		authorities[a.Name] = cert
	}
	for _, l := range f.want.Leaves {
		cert := inspect(l.Name, authorities[l.Authority], 365*24*time.Hour)
		check(l.Name, !cert.IsCA, "is an authority")
		check(l.Name, cert.KeyUsage == x509.KeyUsageDigitalSignature, "key usage")
		check(l.Name, difference(cert, l.normal()) == "", "differs from the table: "+difference(cert, l.normal()))
	}
}

func TestIssueRefusesInvalidSets(t *testing.T) {
	good := Leaf{Name: "user", Authority: "ca", CommonName: "x", Usage: Client, Lifetime: time.Hour}
	leaf := func(alter func(*Leaf)) Set {
		l := good
		alter(&l)
		return Set{Authorities: []Authority{{Name: "ca", CommonName: "x", Lifetime: time.Hour}}, Leaves: []Leaf{l}}
	}
	if _, _, err := Issue(nil, leaf(func(*Leaf) {}), nil, start); err != nil {
		t.Fatalf("the set that all cases alter: %v", err)
	}
	cases := map[string]Set{
		"PathInName":     leaf(func(l *Leaf) { l.Name = "../x" }),
		"NoName":         leaf(func(l *Leaf) { l.Name = "" }),
		"NameTwice":      leaf(func(l *Leaf) { l.Name = "ca" }),
		"NoAuthority":    leaf(func(l *Leaf) { l.Authority = "" }),
		"NoCommonName":   leaf(func(l *Leaf) { l.CommonName = "" }),
		"NoUsage":        leaf(func(l *Leaf) { l.Usage = 0 }),
		"LifetimeTooLow": leaf(func(l *Leaf) { l.Lifetime = shortest - 1 }),
		"NamelessServer": leaf(func(l *Leaf) { l.Usage = Server }),
		"BadDNSName":     leaf(func(l *Leaf) { l.DNSNames = []string{"a..b"} }),
		"ZeroAddress":    leaf(func(l *Leaf) { l.IPs = []netip.Addr{{}} }),
		"AuthorityName":  {Authorities: []Authority{{Name: "C A", CommonName: "x", Lifetime: time.Hour}}},
		"SigningKeyName": {SigningKeys: []string{"a/b"}},
	}
	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			got, _, err := Issue(nil, set, nil, start)
			var trust *TrustError
			if err == nil || errors.As(err, &trust) || got != nil {
				t.Errorf("want a plain error and no bundle, got %v, %v", err, got)
			}
		})
	}
	if _, _, err := Issue(nil, Set{}, nil, time.Time{}); err == nil {
		t.Error("zero time: want an error")
	}
}
