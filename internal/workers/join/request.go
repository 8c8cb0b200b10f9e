package join

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Request is what the user says who joins a machine.
type Request struct {
	// Server is host:port of the API server.
	Server string
	// Token is a bootstrap token, as abcdef.0123456789abcdef.
	Token string
	// Hashes are "sha256:<hex>" of the public keys that may sign the server's certificate.
	Hashes []string
	// Node is the name under which the machine joins.
	Node string
	// Address at which the kubelet is reached; the one from which the server is called when it is not valid.
	Address netip.Addr
}

// Check says what is wrong with the request. It is pure.
func (r Request) Check() error {
	host, port, err := net.SplitHostPort(r.Server)
	if err != nil || host == "" {
		return invalid.New("Server", "%q is not the address of an API server; write it as HOST:PORT, such as 198.51.100.7:6443", r.Server)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return invalid.New("Server", "%q is not a port; it is a number from 1 to 65535", port)
	}
	if !bootstraputil.IsValidBootstrapToken(r.Token) {
		return invalid.New("Token", "is not a token of a cluster, such as abcdef.0123456789abcdef: six letters or digits, a dot, and sixteen more")
	}
	if len(r.Hashes) == 0 {
		return invalid.New("Hashes", "is missing: without it another machine on the way could pretend to be the cluster")
	}
	for _, hash := range r.Hashes {
		sum, found := strings.CutPrefix(hash, machine.HashPrefix)
		if raw, err := hex.DecodeString(sum); !found || err != nil || len(raw) != sha256.Size {
			return invalid.New("Hashes", "%q is not a hash; write it as sha256: and 64 hexadecimal digits", hash)
		}
	}
	if problems := validation.IsDNS1123Label(r.Node); len(problems) > 0 {
		return invalid.New("Node", "%q is not the name of a node: %s", r.Node, problems[0])
	}
	return nil
}

// pinned says whether every certificate has a key that the user pinned: one that is not would be trusted for
// good. Kubeadm is content with one of them.
func (r Request) pinned(certificates []byte) error {
	hashes, err := machine.KeyHashes(certificates)
	if err != nil {
		return fmt.Errorf("the certificate authority of the cluster at %s: %w", r.Server, err)
	}
	for _, hash := range hashes {
		if !slices.ContainsFunc(r.Hashes, func(p string) bool { return strings.EqualFold(p, hash) }) {
			return fmt.Errorf("what answers at %s is not the cluster that is meant: its certificate authority has the hash %s, which is not among the given ones", r.Server, hash)
		}
	}
	return nil
}

// Same says why a machine that has joined cannot join as this request wants; nil when it has joined just so.
// It is pure.
func (r *Record) Same(want Request) error {
	mine, err := machine.KeyHashes(r.Cluster.CA)
	if err != nil {
		return fmt.Errorf("read the certificate authority that this machine trusts: %w", err)
	}
	other := !slices.ContainsFunc(mine, func(have string) bool {
		return slices.ContainsFunc(want.Hashes, func(w string) bool { return strings.EqualFold(have, w) })
	})
	moved := want.Address.IsValid() && r.Address.IsValid() && want.Address != r.Address
	if other || moved || r.Node != want.Node {
		return &JoinedError{Node: r.Node, Server: r.Cluster.Server, Address: r.Address}
	}
	return nil
}

// JoinedError says that the machine is a node already: of another cluster, under another name, or with another
// address.
type JoinedError struct {
	Node, Server string
	Address      netip.Addr
}

func (e *JoinedError) Error() string {
	return fmt.Sprintf("this machine is node %s of the cluster at %s already, with the address %s", e.Node, e.Server, e.Address)
}

// sameText says whether two files hold the same.
func sameText(a, b string) bool {
	return bytes.Equal(bytes.TrimSpace([]byte(a)), bytes.TrimSpace([]byte(b)))
}
