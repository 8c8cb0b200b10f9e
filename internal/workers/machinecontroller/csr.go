package machinecontroller

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/addons"
)

// maxRequest bounds the PEM of a request, in bytes. A kubelet's has less than one thousand.
const maxRequest = 8 << 10

// Names of nodes, by the node authorizer:
// https://kubernetes.io/docs/reference/access-authn-authz/node/#overview.
const (
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
)

// subjectAltName is the only extension that a node's request may have.
var subjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// verdict is what becomes of a request for a certificate.
type verdict int

const (
	ignored  verdict = iota // not ours to decide, or decided
	pending                 // cannot be decided yet
	approved                // it is what this machine may have
	denied                  // this machine asks for what it may not have
)

func (v verdict) String() string { return [...]string{"ignored", "pending", "approved", "denied"}[v] }

// applicant is the machine that a request is held against.
type applicant struct {
	// name of the machine and of its node.
	name string
	// token is the id of the machine's bootstrap token; empty once it has joined.
	token string
	// addresses that the machine's serving certificate may name; none while they are not known.
	addresses []netip.Addr
}

// judgeRequest decides whether a machine gets the certificate that it asks for. It is pure. Requests of others
// are not its business; of those that this machine makes, what is not allowed is denied.
//
//   - kubernetes.io/kube-apiserver-client-kubelet, by the machine's own token: a client certificate for the
//     machine's own node. The node's renewals are approved by the cluster's own controller manager.
//   - kubernetes.io/kubelet-serving, by the machine's own node: a serving certificate for its name and its addresses.
func judgeRequest(csr *certificatesv1.CertificateSigningRequest, who applicant) (verdict, string) {
	byToken := who.token != "" && csr.Spec.Username == bootstrapapi.BootstrapUserPrefix+who.token
	byNode := csr.Spec.Username == nodeUser+who.name
	if !byToken && !byNode || decided(csr) {
		return ignored, ""
	}
	deny := func(err error) (verdict, string) { return denied, "Machine " + who.name + " " + err.Error() }
	switch csr.Spec.SignerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		if byNode {
			return ignored, ""
		}
		if err := who.mayCall(csr); err != nil {
			return deny(err)
		}
	case certificatesv1.KubeletServingSignerName:
		if byToken {
			return deny(errors.New("asks for a serving certificate with its bootstrap token; its node has to ask"))
		}
		if len(who.addresses) == 0 {
			return pending, ""
		}
		if err := who.mayServe(csr); err != nil {
			return deny(err)
		}
	default:
		return ignored, ""
	}
	return approved, "The request is what machine " + who.name + " may have."
}

// decided says whether a request needs no decision any more.
func decided(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Certificate) > 0 || len(csr.Status.Conditions) > 0 // Approved, Denied or Failed
}

// mayCall says what is wrong with a request for a client certificate.
func (a applicant) mayCall(csr *certificatesv1.CertificateSigningRequest) error {
	if !slices.Contains(csr.Spec.Groups, addons.TokenGroup) {
		return fmt.Errorf("asks without the group %s", addons.TokenGroup)
	}
	if err := usages(csr.Spec.Usages, certificatesv1.UsageClientAuth); err != nil {
		return err
	}
	req, err := a.parse(csr.Spec.Request)
	if err != nil {
		return err
	}
	if len(req.Extensions) > 0 {
		return errors.New("asks for a client certificate with names or other extensions; it may have none")
	}
	return nil
}

// mayServe says what is wrong with a request for a serving certificate.
func (a applicant) mayServe(csr *certificatesv1.CertificateSigningRequest) error {
	if !slices.Contains(csr.Spec.Groups, nodeGroup) {
		return fmt.Errorf("asks without the group %s", nodeGroup)
	}
	if err := usages(csr.Spec.Usages, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	req, err := a.parse(csr.Spec.Request)
	if err != nil {
		return err
	}
	for _, e := range req.Extensions {
		if !e.Id.Equal(subjectAltName) {
			return errors.New("asks for an extension that is not the one for names")
		}
	}
	if len(req.EmailAddresses)+len(req.URIs) > 0 {
		return errors.New("asks for e-mail addresses or URIs; it may have none")
	}
	if len(req.DNSNames)+len(req.IPAddresses) == 0 {
		return errors.New("asks for a serving certificate without any name")
	}
	for _, name := range req.DNSNames {
		if name != a.name {
			return fmt.Errorf("asks for the DNS name %q; only its own is allowed", text.Cut(name, longestName))
		}
	}
	for _, ip := range req.IPAddresses {
		if addr, ok := netip.AddrFromSlice(ip); !ok || !slices.Contains(a.addresses, addr.Unmap()) {
			return fmt.Errorf("asks for the address %s, which is not its own", text.Cut(ip.String(), longestName))
		}
	}
	return nil
}

// parse reads a request and says what is wrong with its form and its subject.
func (a applicant) parse(data []byte) (*x509.CertificateRequest, error) {
	req, err := parseRequest(data)
	if err != nil {
		return nil, err
	}
	subject := req.Subject
	if subject.CommonName != nodeUser+a.name {
		return nil, fmt.Errorf("asks for the name %q; only its own is allowed, %s%s", text.Cut(subject.CommonName, longestName), nodeUser, a.name)
	}
	// Two names: the common name and the organization. Any further attribute would be a second opinion.
	if !slices.Equal(subject.Organization, []string{nodeGroup}) || len(subject.Names) != 2 {
		return nil, fmt.Errorf("asks for other groups or attributes than the organization %s", nodeGroup)
	}
	return req, nil
}

// parseRequest reads what any user of the cluster may have written: one PEM block of bounded size, signed by its own key.
func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	if len(data) > maxRequest {
		return nil, fmt.Errorf("asks with %d bytes; at most %d are read", len(data), maxRequest)
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("asks with something that is not one certificate request in PEM")
	}
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, errors.New("asks with a certificate request that cannot be read")
	}
	if err := req.CheckSignature(); err != nil {
		return nil, errors.New("asks with a certificate request that its own key has not signed")
	}
	return req, nil
}

// usages says what is wrong with the usages that a request names: the one that its signer is for and digital
// signature have to be among them, and key encipherment may be.
func usages(have []certificatesv1.KeyUsage, purpose certificatesv1.KeyUsage) error {
	for _, needed := range []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, purpose} {
		if !slices.Contains(have, needed) {
			return fmt.Errorf("asks without the usage %q", needed)
		}
	}
	for _, u := range have {
		if u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment && u != purpose {
			return fmt.Errorf("asks for the usage %q, which it may not have", text.Cut(string(u), longestName))
		}
	}
	return nil
}
