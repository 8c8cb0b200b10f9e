package admission

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
)

func TestCallerIsOneNameOnly(t *testing.T) {
	named := func(name string) []*x509.Certificate {
		return []*x509.Certificate{{Subject: pkix.Name{CommonName: name}}, {Subject: pkix.Name{CommonName: "authority"}}}
	}
	tests := map[string]struct {
		reason string
		chains [][]*x509.Certificate
		taken  bool
	}{
		"Itself":        {"The API server may ask.", [][]*x509.Certificate{named("apiserver")}, true},
		"SameAuthority": {"Another name of the same authority is another caller.", [][]*x509.Certificate{named("other")}, false},
		"Prefix":        {"A name is compared whole.", [][]*x509.Certificate{named("apiserver2")}, false},
		"OfAnAuthority": {"The name of an authority is not that of the caller.", [][]*x509.Certificate{{{}, {Subject: pkix.Name{CommonName: "apiserver"}}}}, false},
		"None":          {"A caller without a certificate has no name.", nil, false},
		"Empty":         {"Nor has one whose chain is empty.", [][]*x509.Certificate{{}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := (Caller{Name: "apiserver"}).check(tc.chains); (err == nil) != tc.taken {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

func TestCallerNeedsAnAuthority(t *testing.T) {
	for name, authority := range map[string]string{"none": "", "no certificate": "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"} {
		if err := (Caller{Name: "apiserver", Authority: []byte(authority)}).require(&tls.Config{}); err == nil {
			t.Errorf("%s: want an error: with no authority the host's would be asked", name)
		}
	}
}
