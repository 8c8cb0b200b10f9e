package machinecontroller

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"kqueen.io/kqueen/internal/workers/addons"
)

// requestPEM is a certificate request with a key of its own.
func requestPEM(template *x509.CertificateRequest) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), err
}

// asking is a request of the machine worker-1 as its kubelet makes it, which a test then spoils.
type asking struct {
	x509 x509.CertificateRequest
	csr  certificatesv1.CertificateSigningRequest
	pem  func([]byte) []byte
	who  applicant
}

func clientRequest() *asking {
	a := &asking{who: applicant{name: "worker-1", token: "abcdef", addresses: []netip.Addr{netip.MustParseAddr("10.9.0.2")}}}
	a.x509.Subject = pkix.Name{CommonName: "system:node:worker-1", Organization: []string{"system:nodes"}}
	a.csr.Spec = certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
		Username:   "system:bootstrap:abcdef",
		Groups:     []string{"system:bootstrappers", addons.TokenGroup, "system:authenticated"},
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
	}
	return a
}

func servingRequest() *asking {
	a := clientRequest()
	a.x509.DNSNames, a.x509.IPAddresses = []string{"worker-1"}, []net.IP{net.ParseIP("10.9.0.2")}
	a.csr.Spec.SignerName = certificatesv1.KubeletServingSignerName
	a.csr.Spec.Username, a.csr.Spec.Groups = "system:node:worker-1", []string{"system:nodes", "system:authenticated"}
	a.csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	return a
}

func (a *asking) build(t testing.TB) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	data, err := requestPEM(&a.x509)
	if err != nil {
		t.Fatal(err)
	}
	a.csr.Spec.Request = data
	if a.pem != nil {
		a.csr.Spec.Request = a.pem(a.csr.Spec.Request)
	}
	return &a.csr
}

// judgement is a request, spoiled, and what becomes of it.
type judgement struct {
	request func() *asking
	spoil   func(*asking)
	want    verdict
	why     string
}

func TestJudgeClientRequest(t *testing.T) {
	judge(t, map[string]judgement{
		"Client":                  {clientRequest, nil, approved, "may have"},
		"ClientEncipherment":      {clientRequest, usage(sign, encipher, call), approved, ""},
		"ClientOtherName":         {clientRequest, func(a *asking) { a.x509.Subject.CommonName = "system:node:worker-2" }, denied, `"system:node:worker-2"`},
		"ClientNamePrefix":        {clientRequest, func(a *asking) { a.x509.Subject.CommonName = "system:node:worker-1x" }, denied, "worker-1x"},
		"ClientAdmin":             {clientRequest, func(a *asking) { a.x509.Subject.Organization = []string{"system:masters"} }, denied, "groups"},
		"ClientSecondGroup":       {clientRequest, func(a *asking) { a.x509.Subject.Organization = []string{"system:nodes", "system:masters"} }, denied, "groups"},
		"ClientNoGroup":           {clientRequest, func(a *asking) { a.x509.Subject.Organization = nil }, denied, "groups"},
		"ClientUnit":              {clientRequest, func(a *asking) { a.x509.Subject.OrganizationalUnit = []string{"x"} }, denied, "attributes"},
		"ClientSecondName":        {clientRequest, func(a *asking) { a.x509.Subject.ExtraNames = twoNames() }, denied, ""},
		"ClientDNS":               {clientRequest, func(a *asking) { a.x509.DNSNames = []string{"worker-1"} }, denied, "names or other"},
		"ClientIP":                {clientRequest, func(a *asking) { a.x509.IPAddresses = []net.IP{net.ParseIP("10.9.0.2")} }, denied, "names or other"},
		"ClientIsCA":              {clientRequest, extra(2, 5, 29, 19), denied, "names or other"},
		"ClientServes":            {clientRequest, usage(sign, call, serve), denied, `"server auth"`},
		"ClientSignsCertificates": {clientRequest, usage(sign, call, certificatesv1.UsageCertSign), denied, `"cert sign"`},
		"ClientWithoutPurpose":    {clientRequest, usage(sign), denied, `"client auth"`},
		"ClientWithoutUsage":      {clientRequest, usage(), denied, "usage"},
		"ClientWithoutOurGroup":   {clientRequest, func(a *asking) { a.csr.Spec.Groups = []string{"system:bootstrappers"} }, denied, addons.TokenGroup},
		"ClientOtherToken":        {clientRequest, by("system:bootstrap:zzzzzz"), ignored, ""},
		"ClientTokenPrefix":       {clientRequest, by("system:bootstrap:abcdefg"), ignored, ""},
		"ClientForeign":           {clientRequest, by("kubernetes-admin"), ignored, ""},
		"ClientRenewal":           {clientRequest, by("system:node:worker-1"), ignored, ""},
		"ClientNoTokenAnyMore":    {clientRequest, func(a *asking) { a.who.token = ""; a.csr.Spec.Username = "system:bootstrap:" }, ignored, ""},
		"ClientApproved":          {clientRequest, condition(certificatesv1.CertificateApproved), ignored, ""},
		"ClientDenied":            {clientRequest, condition(certificatesv1.CertificateDenied), ignored, ""},
		"ClientFailed":            {clientRequest, condition(certificatesv1.CertificateFailed), ignored, ""},
		"ClientIssued":            {clientRequest, func(a *asking) { a.csr.Status.Certificate = []byte("x") }, ignored, ""},
		"OtherSigner":             {clientRequest, func(a *asking) { a.csr.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName }, ignored, ""},
		"LegacySigner":            {clientRequest, func(a *asking) { a.csr.Spec.SignerName = "kubernetes.io/legacy-unknown" }, ignored, ""},
		"NotPEM":                  {clientRequest, func(a *asking) { a.pem = func([]byte) []byte { return []byte("hello") } }, denied, "not one certificate request"},
		"TwoBlocks":               {clientRequest, func(a *asking) { a.pem = func(b []byte) []byte { return append(bytes.Clone(b), b...) } }, denied, "not one"},
		"OtherBlock":              {clientRequest, func(a *asking) { a.pem = retype }, denied, "not one"},
		"Huge":                    {clientRequest, func(a *asking) { a.pem = pad }, denied, "bytes"},
		"BadSignature":            {clientRequest, func(a *asking) { a.pem = flip }, denied, ""},
	})
}

func TestJudgeServingRequest(t *testing.T) {
	judge(t, map[string]judgement{
		"Serving":                  {servingRequest, nil, approved, ""},
		"ServingEncipherment":      {servingRequest, usage(sign, encipher, serve), approved, ""},
		"ServingAddressAlone":      {servingRequest, func(a *asking) { a.x509.DNSNames = nil }, approved, ""},
		"ServingByToken":           {servingRequest, by("system:bootstrap:abcdef"), denied, "bootstrap token"},
		"ServingByOtherNode":       {servingRequest, by("system:node:worker-2"), ignored, ""},
		"ServingOtherName":         {servingRequest, func(a *asking) { a.x509.Subject.CommonName = "system:node:worker-2" }, denied, "worker-2"},
		"ServingOtherDNS":          {servingRequest, func(a *asking) { a.x509.DNSNames = []string{"worker-1", "kubernetes.default"} }, denied, `"kubernetes.default"`},
		"ServingWildcard":          {servingRequest, func(a *asking) { a.x509.DNSNames = []string{"*"} }, denied, `"*"`},
		"ServingOtherAddress":      {servingRequest, func(a *asking) { a.x509.IPAddresses = append(a.x509.IPAddresses, net.ParseIP("10.9.0.3")) }, denied, "10.9.0.3"},
		"ServingMail":              {servingRequest, func(a *asking) { a.x509.EmailAddresses = []string{"a@example.org"} }, denied, "e-mail"},
		"ServingURI":               {servingRequest, func(a *asking) { a.x509.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, denied, "URIs"},
		"ServingNameless":          {servingRequest, func(a *asking) { a.x509.DNSNames, a.x509.IPAddresses = nil, nil }, denied, "without any name"},
		"ServingIsCA":              {servingRequest, extra(2, 5, 29, 19), denied, "extension"},
		"ServingCalls":             {servingRequest, usage(sign, serve, call), denied, `"client auth"`},
		"ServingWithoutGroup":      {servingRequest, func(a *asking) { a.csr.Spec.Groups = nil }, denied, "system:nodes"},
		"ServingAddressUnknown":    {servingRequest, func(a *asking) { a.who.addresses = nil }, pending, ""},
		"ServingAfterTheTokenGone": {servingRequest, func(a *asking) { a.who.token = "" }, approved, ""},
	})
}

func judge(t *testing.T, tests map[string]judgement) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := tc.request()
			if tc.spoil != nil {
				tc.spoil(a)
			}
			got, why := judgeRequest(a.build(t), a.who)
			if got != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("got %v (%s), want %v (…%s…)", got, why, tc.want, tc.why)
			}
			if (why == "") != (got == ignored || got == pending) || len(why) > 512 {
				t.Errorf("%v is explained with %q", got, why)
			}
		})
	}
}

const sign, encipher, call, serve = certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth

func extra(oid ...int) func(*asking) {
	return func(a *asking) { a.x509.ExtraExtensions = []pkix.Extension{{Id: oid, Value: []byte{5, 0}}} }
}

func usage(u ...certificatesv1.KeyUsage) func(*asking) {
	return func(a *asking) { a.csr.Spec.Usages = u }
}

func by(user string) func(*asking) { return func(a *asking) { a.csr.Spec.Username = user } }

func condition(kind certificatesv1.RequestConditionType) func(*asking) {
	return func(a *asking) {
		a.csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind}}
	}
}

// twoNames is a subject whose last common name is right.
func twoNames() []pkix.AttributeTypeAndValue {
	cn := asn1.ObjectIdentifier{2, 5, 4, 3}
	return []pkix.AttributeTypeAndValue{{Type: cn, Value: "system:node:worker-2"}, {Type: cn, Value: "system:node:worker-1"}}
}

func pad(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), maxRequest)...) }

func retype(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("CERTIFICATE REQUEST"), []byte("CERTIFICATE"))
}

// flip changes the last byte of the signature.
func flip(b []byte) []byte {
	block, _ := pem.Decode(b)
	block.Bytes[len(block.Bytes)-1] ^= 1
	return pem.EncodeToMemory(block)
}

// FuzzJudgeRequest: whatever a request holds, what is approved names this machine alone.
func FuzzJudgeRequest(f *testing.F) {
	for _, a := range []*asking{clientRequest(), servingRequest()} {
		csr := a.build(f)
		f.Add(csr.Spec.Request, csr.Spec.SignerName == certificatesv1.KubeletServingSignerName)
	}
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----"), true)
	f.Fuzz(func(t *testing.T, data []byte, serving bool) {
		a := clientRequest()
		if serving {
			a = servingRequest()
		}
		a.csr.Spec.Request = data
		got, why := judgeRequest(&a.csr, a.who)
		if got != approved && got != denied {
			t.Fatalf("a request of the machine itself is %v", got)
		}
		if len(why) > 512 {
			t.Fatalf("the reason has %d bytes", len(why))
		}
		if got == denied {
			return
		}
		block, _ := pem.Decode(data)
		req, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil || req.Subject.CommonName != "system:node:worker-1" || strings.Join(req.Subject.Organization, ",") != "system:nodes" {
			t.Fatalf("approved a request for %v: %v", req.Subject, err)
		}
		if !serving && len(req.DNSNames)+len(req.IPAddresses)+len(req.EmailAddresses)+len(req.URIs) > 0 {
			t.Fatal("approved a client certificate with names")
		}
		for _, ip := range req.IPAddresses {
			if ip.String() != "10.9.0.2" {
				t.Fatalf("approved the address %s", ip)
			}
		}
	})
}
