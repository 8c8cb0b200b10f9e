package pki

import "fmt"

// Ingress returns the table of what the Ingresses and Gateways of a cluster have by default. uid is the cluster's, and domains are those
// of its applications: "demo.team-a.example.org". The error names the field that is wrong.
//
//	ca          signs names below the domains alone
//	  tls       server, for all names of one more label: "*.demo.team-a.example.org"
//
// It has an authority of its own because users install that in their browsers, and because the key of the leaf is for the cluster to
// have, of which a tenant reads all Secrets.
func Ingress(uid string, domains []string) (Set, error) {
	if err := checkUID(uid); err != nil {
		return Set{}, fmt.Errorf("uid: %w", err)
	}
	server := Leaf{Name: "tls", Authority: "ca", CommonName: "ingress", Usage: Server, Lifetime: leafLife}
	for _, domain := range domains {
		server.DNSNames = append(server.DNSNames, "*."+domain)
	}
	set := Set{
		Authorities: []Authority{{Name: "ca", CommonName: "ingress-ca@" + uid, Lifetime: authorityLife, Domains: domains}},
		Leaves:      []Leaf{server.normal()},
	}
	if err := set.validate(); err != nil {
		return Set{}, fmt.Errorf("domains: %w", err)
	}
	return set, nil
}
