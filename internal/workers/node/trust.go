package node

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
)

// FileAuthorities holds the authorities that a node is to trust, the one that signs its certificates first. [FileCA] has those that it
// trusts: they follow when the node has certificates of the first.
const FileAuthorities = "authorities.crt"

// fileTrusts is in the folder of the kubelet's certificates, and says by their hash for which authorities they are good.
const fileTrusts = "kqueen-authorities"

// ComponentRenewal has a node follow other authorities.
const ComponentRenewal = "renewal"

// longestTrusts bounds what is read of a file that a pod may have written.
const longestTrusts = 256

// Settled are the authorities that the programs of a node are to trust: wanted, once its certificates are good for those, and what it trusted
// before until then. before is empty for a node that is new. It is pure.
func Settled(wanted, before []byte, good string) []byte {
	if len(before) == 0 || good == machine.TrustHash(wanted) {
		return wanted
	}
	return before
}

// GoodFor says for which authorities the certificates of a node are good, whose /var/lib is the folder; empty where it does not say. The
// folder may be one in which pods write: nothing that they put there leads out of it, or is waited for.
func GoodFor(folder string) (string, error) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	inside, err := filepath.Rel("/var/lib", filepath.Join(KubeletCerts, fileTrusts))
	if err != nil {
		return "", err
	}
	file, err := root.OpenFile(inside, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", nil // what cannot be opened says nothing
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, longestTrusts))
	if text := strings.TrimSpace(string(data)); err == nil && machine.IsTrustHash(text) {
		return text, nil
	}
	return "", nil
}

// Renewal has the node follow the authorities in [FileAuthorities], beside its kubelet. There is none where it has followed them: trusted
// are those that its programs trust.
func (p Programs) Renewal(wanted, trusted []byte) []supervise.Component {
	if bytes.Equal(wanted, trusted) {
		return nil
	}
	return []supervise.Component{{
		Name:      ComponentRenewal,
		Path:      p.Program,
		Args:      []string{"machine", "renew", "--authorities", p.path(FileAuthorities)},
		RestartOn: []string{FileAuthorities},
	}}
}
