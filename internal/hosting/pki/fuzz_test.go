package pki

import (
	"errors"
	"testing"
	"time"
)

// FuzzParse reads any bytes as each kind of entry. What is accepted must be whole and usable.
func FuzzParse(f *testing.F) {
	addEntries(f, newFixture(f, start).bundle)
	f.Fuzz(func(t *testing.T, data []byte) {
		if cert, err := parseCertificate(data); (cert == nil) != (err != nil) {
			t.Errorf("certificate %v, error %v", cert, err)
		}
		if key, err := parseKey(data); err == nil && !sameKey(key.Public(), key.Public()) {
			t.Error("a key that does not equal itself")
		}
		if keys, err := parsePublicKeys(data); (len(keys) == 0) != (err != nil) {
			t.Errorf("%d public keys, error %v", len(keys), err)
		}
	})
}

func addEntries(f *testing.F, b Bundle) {
	for _, name := range b.Names() {
		f.Add(b[name])
	}
	f.Add([]byte(nil))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN EC PARAMETERS-----\n-----END EC PARAMETERS-----\n"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n"))
}

// FuzzEntry puts any bytes in place of each kind of entry. Issue must never panic, and either finish the bundle for good or refuse it with a TrustError.
// Run it with -fuzzminimizetime=1x: new keys make its coverage differ from run to run, so minimizing finds no end.
func FuzzEntry(f *testing.F) {
	good := newFixture(f, start)
	addEntries(f, good.bundle)
	now := start.Add(time.Hour)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"admin.crt", "admin.key", "ca.crt", "ca.key", "sa.key", "sa.pub"} {
			c := good.copy()
			c.bundle[name] = data
			got, _, err := Issue(c.bundle, c.want, c.signers, now)
			if err != nil {
				if _, ok := errors.AsType[*TrustError](err); !ok {
					t.Errorf("%s: want a TrustError, got %v", name, err)
				}
				continue
			}
			if _, err := RenewAt(got, c.want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if again, changes := issue(t, got, c.want, c.signers, now); !again.Equal(got) {
				t.Errorf("%s: a second Issue did: %v", name, changes)
			}
		}
	})
}

// FuzzHost: what ControlPlane takes as a name must come back from the certificate as it went in, or the next Issue would renew for ever.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"a.example.org", "*.x.org", "10.0.0.1", "::1", "::ffff:1.2.3.4", "1.2.3", "A.B", "xn--bcher-kva.example", "a_b", "fe80::1%1"} {
		f.Add(host)
	}
	signers := newFixture(f, start).signers
	f.Fuzz(func(t *testing.T, host string) {
		p := params("a1")
		p.ExtraSANs = []string{host}
		want, err := ControlPlane(p)
		if err != nil {
			return
		}
		got, _ := issue(t, nil, want, signers, start)
		if _, changes := issue(t, got, want, signers, start); len(changes) > 0 {
			t.Errorf("%q: %v", host, changes)
		}
	})
}

func BenchmarkIssueNew(b *testing.B) {
	f := newFixture(b, start)
	for b.Loop() {
		issue(b, nil, f.want, f.signers, start)
	}
}

func BenchmarkIssueNothingToDo(b *testing.B) {
	f := newFixture(b, start)
	for b.Loop() {
		issue(b, f.bundle, f.want, f.signers, start)
	}
}
