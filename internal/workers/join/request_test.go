package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// authority is a certificate in PEM, and the hash of its key.
func authority(t *testing.T) (certificate []byte, hash string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	hashes, err := machine.KeyHashes(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, hashes[0]
}

const goodToken = "abcdef.0123456789abcdef"

func TestRequestCheck(t *testing.T) {
	good := Request{Server: "198.51.100.7:6443", Token: goodToken, Hashes: []string{"sha256:" + strings.Repeat("aB", 32)}, Node: "hand-x7k2f"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	cases := map[string]struct {
		change         func(*Request)
		field, problem string
	}{
		"no port":            {func(r *Request) { r.Server = "198.51.100.7" }, "Server", "HOST:PORT"},
		"no host":            {func(r *Request) { r.Server = ":6443" }, "Server", "HOST:PORT"},
		"URL":                {func(r *Request) { r.Server = "https://198.51.100.7:6443" }, "Server", "HOST:PORT"},
		"port that is none":  {func(r *Request) { r.Server = "a:70000" }, "Server", "1 to 65535"},
		"no token":           {func(r *Request) { r.Token = "" }, "Token", "not a token"},
		"half a token":       {func(r *Request) { r.Token = "s3cret" }, "Token", "not a token"},
		"no hash":            {func(r *Request) { r.Hashes = nil }, "Hashes", "missing"},
		"hash of MD5":        {func(r *Request) { r.Hashes[0] = "md5:00" }, "Hashes", "64 hexadecimal digits"},
		"short hash":         {func(r *Request) { r.Hashes[0] = "sha256:00" }, "Hashes", "64 hexadecimal digits"},
		"name with a dot":    {func(r *Request) { r.Node = "a.b" }, "Node", "not the name of a node"},
		"name in other case": {func(r *Request) { r.Node = "A" }, "Node", "not the name of a node"},
		"path as a name":     {func(r *Request) { r.Node = "../x" }, "Node", "not the name of a node"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := good
			r.Hashes = []string{good.Hashes[0]}
			c.change(&r)
			err := r.Check()
			bad, ok := errors.AsType[*invalid.Error](err)
			if !ok || bad.Field != c.field || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %v, want %s with %q", err, c.field, c.problem)
			}
			if ok && r.Token != "" && c.field == "Token" && strings.Contains(err.Error(), r.Token) {
				t.Errorf("the secret is repeated: %v", err)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	one, hash := authority(t)
	other, otherHash := authority(t)
	both := append(append([]byte{}, one...), other...)
	cases := map[string]struct {
		certificates []byte
		hashes       []string
		want         string
	}{
		"the one":                        {one, []string{hash}, ""},
		"in capitals":                    {one, []string{strings.Replace(strings.ToUpper(hash), "SHA256", "sha256", 1)}, ""},
		"both pinned, while they change": {both, []string{hash, otherHash}, ""},
		"another":                        {one, []string{otherHash}, "not the cluster that is meant"},
		"one smuggled in":                {both, []string{hash}, "not the cluster that is meant"},
		"none":                           {nil, []string{hash}, "no certificate"},
	}
	for name, c := range cases {
		err := Request{Server: "a:1", Hashes: c.hashes}.pinned(c.certificates)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	ca, hash := authority(t)
	_, otherHash := authority(t)
	r := &Record{Node: "a", Address: netip.MustParseAddr("198.51.100.20"), Cluster: Cluster{Server: "198.51.100.7:6443", CA: ca}}
	cases := map[string]struct {
		want    Request
		refused bool
	}{
		"the same":         {Request{Node: "a", Hashes: []string{hash}}, false},
		"by another way":   {Request{Node: "a", Server: "elsewhere:1", Token: "another", Hashes: []string{otherHash, hash}}, false},
		"by its address":   {Request{Node: "a", Hashes: []string{hash}, Address: netip.MustParseAddr("198.51.100.20")}, false},
		"another address":  {Request{Node: "a", Hashes: []string{hash}, Address: netip.MustParseAddr("198.51.100.21")}, true},
		"another name":     {Request{Node: "b", Hashes: []string{hash}}, true},
		"another cluster":  {Request{Node: "a", Hashes: []string{otherHash}}, true},
		"nothing is known": {Request{Node: "a"}, true},
	}
	for name, c := range cases {
		err := r.Same(c.want)
		if _, refused := errors.AsType[*JoinedError](err); refused != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if c.refused && err.Error() != "this machine is node a of the cluster at 198.51.100.7:6443 already, with the address 198.51.100.20" {
			t.Errorf("%s: %v does not say what the machine is", name, err)
		}
	}
	damaged := &Record{Node: "a", Cluster: Cluster{CA: []byte("no PEM")}}
	if err := damaged.Same(Request{Node: "a", Hashes: []string{hash}}); err == nil || !strings.HasPrefix(err.Error(), "read the certificate authority that this machine trusts: ") {
		t.Errorf("a record without an authority: %v", err)
	}
}

func TestOwnAddress(t *testing.T) {
	for server, want := range map[string]string{"127.0.0.1:6443": "127.0.0.1", "[::ffff:127.0.0.1]:6443": "127.0.0.1"} {
		if got, err := OwnAddress(t.Context(), server); err != nil || got.String() != want {
			t.Errorf("to %s: got %v, %v; want %s", server, got, err, want)
		}
	}
	if _, err := OwnAddress(t.Context(), "127.0.0.1"); err == nil || !strings.HasPrefix(err.Error(), "find the way to 127.0.0.1: ") {
		t.Errorf("without a port: %v", err)
	}
}
