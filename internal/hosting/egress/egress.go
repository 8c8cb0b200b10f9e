// Package egress carries the calls that an API server makes into its cluster: to kubelets, to pods and to
// Services (logs and exec, webhooks, aggregated APIs, the proxy subresources).
//
// Pods have addresses that mean something within their cluster only; every cluster may use the same. So the API
// server hands each call to an entry, a socket beside its own files, and the entry hands those to pods to an exit,
// a socket that a machine of the same cluster listens at. Entries and exits are found by the [Mark] that lies
// beside them: the [Server] need not be told about clusters that come and go.
//
// It hides the protocol (HTTP CONNECT, https://kubernetes.io/docs/concepts/architecture/control-plane-node-communication/)
// and the rule of who may be called from where, and how administrators write down what they allow beside it. The reconciler of
// control planes and the machine provider write marks; a provider that creates machines serves exits; the command line runs
// the server. It and the admission of organizations read lists by [ParseDestination].
package egress

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// MarkFile is the name of the file with a Mark, and Socket that of the socket beside it.
const (
	MarkFile = "egress.json"
	Socket   = "egress.sock"
)

// Mark says what the socket beside it is: the entry of an API server, or a machine's exit.
type Mark struct {
	// Cluster is the UID of the cluster that both belong to.
	Cluster string `json:"cluster"`
	// Ranges are those of the cluster's pods and Services. An entry alone needs them.
	Ranges []netip.Prefix `json:"ranges,omitempty"`
	// Kubelets are the recorded addresses of the cluster's machines, for an entry.
	Kubelets []netip.Addr `json:"kubelets,omitempty"`
	// Allowed is what administrators allow it to call beside its cluster, for an entry.
	Allowed []Destination `json:"allowed,omitempty"`
	// Closed are the ranges of this host's machines, of any cluster, which Allowed does not open, for an entry.
	Closed []netip.Prefix `json:"closed,omitempty"`
	// Machine is the machine's address, which the host reaches. It is what makes an exit of it.
	Machine netip.Addr `json:"machine,omitzero"`
}

// Encode writes a mark.
func (m Mark) Encode() ([]byte, error) { return json.Marshal(m) }

// parseMark reads a mark.
func parseMark(data []byte) (Mark, error) {
	var m Mark
	if err := json.Unmarshal(data, &m); err != nil {
		return Mark{}, err
	}
	if m.Cluster == "" {
		return Mark{}, errors.New("cluster: is empty")
	}
	if !m.exit() && len(m.Ranges) == 0 {
		return Mark{}, errors.New("ranges: an entry needs those of its cluster")
	}
	if slices.Contains(m.Allowed, Destination{}) {
		return Mark{}, errors.New("allowed: an entry of the list is empty")
	}
	return m, nil
}

func (m Mark) exit() bool { return m.Machine.IsValid() }

// kubeletPort is upstream's. On a machine that is not of this host nothing else is called.
const kubeletPort = 10250

// refusedError says that a call goes where an API server has no business.
type refusedError struct{ target, reason string }

// instead is what a webhook has to be. Its author reads that where the call fails.
const instead = "serve webhooks in the cluster and name them by their Service (clientConfig.service)"

func (e *refusedError) Error() string {
	return fmt.Sprintf("calls from this API server to %s are refused: %s", e.target, e.reason)
}

// inside says whether a call from an entry goes to a pod or a Service, and so through an exit. A call that is not
// may be refused: an administrator of a cluster can make its API server call any address, by objects such as Nodes
// and Endpoints, and must reach nothing thereby that is not the cluster's, or allowed by an administrator of the installation.
// What is refused whatever is allowed comes first. It is pure. machines are those of all clusters on this host, own are the
// host's own addresses.
func inside(entry Mark, target netip.AddrPort, machines []Mark, own []netip.Addr) (bool, error) {
	refuse := func(reason string) (bool, error) { return false, &refusedError{target.String(), reason} }
	addr := target.Addr()
	if addr.Zone() != "" || isIn(special, addr) {
		return refuse("the address is special; " + instead)
	}
	if contains(entry.Ranges, addr) {
		return true, nil
	}
	if slices.Contains(own, addr) {
		return refuse("it is an address of the host; " + instead)
	}
	if isIn(metadata, addr) {
		return refuse("it is the metadata of a cloud; " + instead)
	}
	for _, m := range machines {
		if m.Machine != addr {
			continue
		}
		if m.Cluster != entry.Cluster {
			return refuse("it is a machine of another cluster")
		}
		return false, nil
	}
	if target.Port() == kubeletPort {
		if !slices.Contains(entry.Kubelets, addr) {
			return refuse("it is not the recorded address of a machine of the cluster")
		}
		return false, nil
	}
	if contains(entry.Closed, addr) {
		return refuse("it is in the network of the host's machines; " + instead)
	}
	if !entry.allows(target) {
		return refuse(fmt.Sprintf("it is neither a pod nor a Service of the cluster nor a kubelet (port %d), nor does an administrator of the installation allow it; %s", kubeletPort, instead))
	}
	return false, nil
}

func contains(ranges []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// allows says whether a call is one that administrators allow. It may be refused all the same.
func (m Mark) allows(target netip.AddrPort) bool {
	return slices.ContainsFunc(m.Allowed, func(d Destination) bool { return d.holds(target) })
}
