package pki

import (
	"bytes"
	"maps"
	"strings"
)

// Names of what is rotated. What takes the place of NAME is called next-NAME until it has it.
const (
	nextPrefix   = "next-"
	authorityCA  = "ca"
	signingKeySA = "sa"
	// firstName begins the common name of the first authority of a control plane, and successorName that of each one after it.
	firstName, successorName = "kubernetes-ca@", "kubernetes-ca-"
	// longestSuccessor keeps the common name of a successor within its bounds, with a UID of 36 characters.
	longestSuccessor = 12
)

// Successor is the authority of a control plane that takes the place of ca, step by step. It has a subject of its own: clients
// choose their certificates by the subjects that a server says it accepts.
type Successor struct {
	// ID tells it from all others of the control plane, and becomes a part of its common name.
	ID string
	// Clients says that it signs what calls the API server, and Servers that it signs what the API server shows to its clients
	// and to kubelets.
	Clients, Servers bool
}

// signers are the names of the authorities that sign what the API server shows, and what calls it. It is pure.
func (s *Successor) signers() (servers, clients string) {
	servers, clients = authorityCA, authorityCA
	if s != nil && s.Clients {
		clients = nextPrefix + authorityCA
	}
	if s != nil && s.Servers {
		servers = nextPrefix + authorityCA
	}
	return servers, clients
}

// Next returns the keys that take the place of others, under the names of those.
func (b Bundle) Next() Bundle {
	out := Bundle{}
	for name, data := range b {
		if of, found := strings.CutPrefix(name, nextPrefix); found {
			out[of] = data
		}
	}
	return out
}

// Present returns the bundle without the keys that take the place of others.
func (b Bundle) Present() Bundle {
	out := maps.Clone(b)
	maps.DeleteFunc(out, func(name string, _ []byte) bool { return strings.HasPrefix(name, nextPrefix) })
	return out
}

// Promote returns the bundle with the keys that take the place of others in it, which are gone then. Where there are none, it
// is the same.
func (b Bundle) Promote() Bundle {
	out := b.Present()
	maps.Copy(out, b.Next())
	return out
}

// Succeeded says whether ca has taken the place of another authority.
func (b Bundle) Succeeded() bool {
	cert, err := parseCertificate(b[authorityCA+certSuffix])
	return err == nil && strings.HasPrefix(cert.Subject.CommonName, successorName)
}

// SignerID is the ID of the [Successor] that has signed the certificate of a name; empty where the first authority has, or none.
func (b Bundle) SignerID(name string) string {
	cert, err := parseCertificate(b[name+certSuffix])
	if err != nil {
		return ""
	}
	id, found := strings.CutPrefix(cert.Issuer.CommonName, successorName)
	if !found {
		return ""
	}
	id, _, _ = strings.Cut(id, "@")
	return id
}

// Trusted are the certificates of the authorities of users and nodes: that which takes the place of ca, where there is one, before it.
func (b Bundle) Trusted() []byte {
	const file = authorityCA + certSuffix
	return bytes.Join([][]byte{b.Next()[file], b[file]}, nil)
}
