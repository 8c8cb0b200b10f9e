package addons

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/cert"

	"kqueen.io/kqueen/api/v1alpha1"
)

// validate says everything that is wrong with the parameters. They are filled into templates, so what is
// no name, address or reference must not get that far.
func (p Params) validate() error {
	return errors.Join(
		wrong("Version", validVersion(p.Version)),
		wrong("Server", validServer(p.Server)),
		wrong("CA", validCA(p.CA)),
		wrong("ServerName", p.validServerName()),
		wrong("PodCIDR", validRange(p.PodCIDR)),
		wrong("ServiceCIDR", validRange(p.ServiceCIDR)),
		wrong("DNS", p.validDNS()),
		wrong("DNSDomain", validName(validation.IsDNS1123Subdomain(p.DNSDomain))),
		wrong("ClusterName", validName(validation.IsDNS1123Label(p.ClusterName))),
		wrong("CNI", p.validCNI()),
		p.validImages(),
	)
}

func wrong(field string, problem error) error {
	if problem == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, problem)
}

func validVersion(version string) error {
	number, ok := strings.CutPrefix(version, "v")
	if _, err := semver.StrictNewVersion(number); !ok || err != nil {
		return fmt.Errorf("%q is not a version; must be such as v1.36.3", version)
	}
	return nil
}

func validServer(server string) error {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return fmt.Errorf("%q must be host:port", server)
	}
	if _, err := netip.ParseAddr(host); err != nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return fmt.Errorf("%q is neither an address nor a host name", host)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is not a port; must be a number from 1 to 65535", port)
	}
	return nil
}

func validCA(ca []byte) error {
	if _, err := cert.ParseCertsPEM(ca); err != nil {
		return fmt.Errorf("must be a certificate in PEM: %w", err)
	}
	return nil
}

func validRange(r netip.Prefix) error {
	if !r.IsValid() {
		return errors.New("is missing; must be a range such as 10.244.0.0/16")
	}
	if r != r.Masked() {
		return fmt.Errorf("%s has host bits set; must be %s", r, r.Masked())
	}
	return nil
}

func (p Params) validDNS() error {
	if p.ServiceCIDR.IsValid() && !p.ServiceCIDR.Contains(p.DNS) {
		return fmt.Errorf("%s must be an address in ServiceCIDR %s", p.DNS, p.ServiceCIDR)
	}
	return nil
}

func (p Params) validCNI() error {
	if !slices.Contains(v1alpha1.CNIs(), p.CNI) {
		return fmt.Errorf("%q is not known; must be one of %s", p.CNI, strings.Join(v1alpha1.CNIs(), ", "))
	}
	if p.CNI == v1alpha1.CNIFlannel && p.PodCIDR.Addr().Is6() {
		return fmt.Errorf("flannel is for IPv4 and PodCIDR is %s; must be none, or the range one of IPv4", p.PodCIDR)
	}
	return nil
}

func (p Params) validImages() error {
	var all []error
	for _, a := range p.Addons {
		if a.image == nil {
			continue
		}
		all = append(all, wrong("Images of "+a.Name, validImage(a.image(p.Images))))
	}
	if p.CNI == v1alpha1.CNIFlannel && p.Images.FlannelPlugin != "" {
		all = append(all, wrong("Images.FlannelPlugin", validImage(p.Images.FlannelPlugin)))
	}
	return errors.Join(all...)
}

func (p Params) validServerName() error {
	if p.ServerName == "" {
		return nil
	}
	return validName(validation.IsDNS1123Subdomain(p.ServerName))
}

func validName(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// validImage leaves the grammar of references to the container runtime and holds off what is none for sure.
func validImage(reference string) error {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsPrint(r) || strings.ContainsRune(" \"'\\{}", r)
	}
	if reference == "" || strings.ContainsFunc(reference, odd) {
		return fmt.Errorf("%q is not a reference of an image; must be such as registry.k8s.io/coredns/coredns:v1.14.2", reference)
	}
	return nil
}
