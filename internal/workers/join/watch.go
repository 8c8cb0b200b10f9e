package join

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// networksDir is where a network of pods puts its configuration on each node.
const networksDir = "/etc/cni/net.d"

// Verdict is how far a machine is that joins.
type Verdict struct {
	// Ready says that the node is ready.
	Ready bool
	// Done says that nothing more comes by itself: the node is ready, or registered and waits for what the user has to
	// add, such as a network.
	Done bool
	// Message says, in words for the user, what is waited for, or what is wrong; empty when the node is ready.
	Message string
}

// seen is what can be seen of a machine that joins.
type seen struct {
	programs   machine.Observed
	identified bool // the kubelet has an identity
	node       *corev1.Node
	trouble    string // why the node cannot be read
	network    bool   // a network has put its configuration on the machine
}

// Progress says how far the machine is.
func (p Place) Progress(ctx context.Context) (Verdict, error) {
	r, err := p.Record()
	if err != nil {
		return Verdict{}, err
	}
	if r == nil {
		return Verdict{}, ErrNotJoined
	}
	s := seen{network: hasNetwork(networksDir), identified: identified()}
	if s.programs, err = p.Status(); err != nil {
		return Verdict{}, err
	}
	if s.node, err = r.ownNode(ctx); err != nil {
		s.trouble = err.Error()
	}
	return r.judge(s), nil
}

// Joined says whether the machine has its identity in the cluster, and needs no token any more.
func (r *Record) Joined() bool { return r.Cluster.Server != "" && identified() }

// identified says whether the kubelet has got an identity.
func identified() bool {
	_, err := os.Stat(node.KubeletKubeconfig)
	return err == nil
}

// ownNode reads the node as itself; nil while it has no identity or is not registered.
func (r *Record) ownNode(ctx context.Context) (*corev1.Node, error) {
	pair := filepath.Join(node.KubeletCerts, "kubelet-client-current.pem")
	certificate, err := tls.LoadX509KeyPair(pair, pair)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's certificate: %w", err)
	}
	c, err := newCaller(r.Cluster.Server, r.Cluster.CA, "", certificate)
	if err != nil {
		return nil, err
	}
	own := &corev1.Node{}
	err = c.get(ctx, pathNode+r.Node, own)
	if hasCode(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the node: %w", err)
	}
	return own, nil
}

// judge says how far the machine is. It is pure.
func (r *Record) judge(s seen) Verdict {
	if s.node == nil {
		switch {
		case s.programs.State == "":
			return Verdict{Message: "its programs start"}
		case s.programs.State == machine.Failing:
			return Verdict{Message: s.programs.Message}
		case s.trouble != "":
			return Verdict{Message: s.trouble}
		case !s.identified:
			return Verdict{Message: "its programs start, and the kubelet asks the cluster for an identity, which KQueen grants to the machine that it expects"}
		}
		return Verdict{Message: "the node is not registered yet"}
	}
	ready := readyCondition(s.node)
	switch {
	case ready != nil && ready.Status == corev1.ConditionTrue:
		return Verdict{Ready: true, Done: true}
	case !s.network && strings.EqualFold(r.Cluster.CNI, v1alpha1.CNINone):
		return Verdict{Done: true, Message: "the cluster was created without a pod network (--cni None); the node gets ready when your network plugin has put its configuration into " + networksDir}
	case !s.network && strings.EqualFold(r.Cluster.CNI, v1alpha1.CNIRoutes):
		return Verdict{Done: true, Message: "the cluster's network (--cni Routes) connects machines on KQueen's host alone; it gets ready when one that you bring has put its configuration into " + networksDir}
	case s.programs.State == machine.Failing:
		return Verdict{Message: s.programs.Message}
	case ready == nil:
		return Verdict{Message: "the node is registered and has not said yet that it is ready"}
	}
	return Verdict{Message: "the node is not ready: " + ready.Message}
}

func readyCondition(n *corev1.Node) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// hasNetwork says whether a folder has a configuration that containerd would take.
func hasNetwork(dir string) bool {
	for _, pattern := range []string{"*.conf", "*.conflist", "*.json"} {
		if found, err := filepath.Glob(filepath.Join(dir, pattern)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
