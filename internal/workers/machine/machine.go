// Package machine is the interface of machine providers: how one worker of a cluster is made, whatever makes it, such
// as KQueen on its own host (package local) or a user who joins a machine by a command (package manual).
//
// It hides from its callers how a machine comes to be. The reconciler of NodePool decides which Machines there should
// be; the machine controller hands each to its provider, and neither knows one of them. Package machinetest holds the
// suite that every provider must pass; docs/development/drivers.md shows a whole provider.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ServiceAddresses is how many addresses at the end of a network that a provider makes for the machines of a cluster belong to the
// cluster's Services of type LoadBalancer. No machine gets one of them.
const ServiceAddresses = 31

// HostNetworkBits is the size of the network of a cluster's machines on KQueen's host: 254 addresses, of which the host takes the first.
const HostNetworkBits = 24

// ForServices says whether an address is one of those for Services in the network of a machine on KQueen's host. It is pure.
func ForServices(address, machine netip.Addr) bool {
	if !address.Is4() || !machine.Is4() || !netip.PrefixFrom(machine, HostNetworkBits).Contains(address) {
		return false
	}
	const last = 1<<(32-HostNetworkBits) - 1 // to which all of the network listen
	host := int(address.As4()[3])
	return host >= last-ServiceAddresses && host < last
}

// Provider makes machines of one sort. No method blocks for longer than one call to the outside, and none outlives its
// context: the caller bounds each call. Long work goes on outside and is seen by the next Ensure. Every method is
// idempotent, safe for concurrent use, and safe after a crash of KQueen at any instruction of an earlier call. A call
// that did not come through is an error, never the news that there is nothing.
type Provider interface {
	// Describe says what the provider is. It is pure.
	Describe() Description
	// Ensure begins or goes on to make the machine so, and says how it is. Bad input is an *invalid.Error and changes
	// nothing. ErrUnsupported and ErrCapacity say that trying again soon is no use.
	Ensure(ctx context.Context, want Desired) (Observed, error)
	// Delete begins or goes on to remove the machine, and says whether nothing of it is left. Its pods
	// have left before, or are given up.
	Delete(ctx context.Context, of Target) (gone bool, err error)
	// List names the machines of which something is there, so that orphans can be found. A provider that needs more
	// than its own configuration to look lists none.
	List(ctx context.Context) ([]types.UID, error)
}

// Possible is what a provider has that can say, before a machine is wanted, that it never creates one of a size. Its errors are
// those of Ensure; that there is no capacity at the moment is none.
type Possible interface {
	Possible(Size) error
}

// Description is what a provider is.
type Description struct {
	// Name by which a NodePool asks for the provider.
	Name string
	// Summary is one sentence for users.
	Summary string
	// ParametersSchema is the JSON Schema (2020-12) of spec.template.parameters of a NodePool.
	ParametersSchema json.RawMessage
	// UserJoins says that a user joins the machine, some day or never, and that KQueen cannot switch it off.
	UserJoins bool
	// Routed says that the provider itself carries packets between the pods of its machines.
	Routed bool
}

// Ref names a machine for good.
type Ref struct {
	// UID of the Machine, and of its Cluster.
	UID, Cluster types.UID
	// Name of the machine and of its node.
	Name string
}

// Target is a machine that there may be, with all that a provider may need to find it again: after a restart a
// provider knows nothing else.
type Target struct {
	Ref
	// ProviderID is what Ensure reported last; empty when it never did, or the answer was lost.
	ProviderID string
	// Parameters are what the provider's schema describes; nil for none.
	Parameters json.RawMessage
}

// Desired is a machine as a NodePool wants it.
type Desired struct {
	Target
	// Version of Kubernetes, such as "v1.36.3".
	Version string
	// Taints with which the node registers. Its labels come from KQueen once it is there.
	Taints []corev1.Taint
	// Size is what the machine is to have.
	Size Size
	// Cluster says what the machine joins.
	Cluster Cluster
	// Token is a bootstrap token that is good for this one machine; empty once the node has joined.
	Token string
	// Peers are the cluster's other machines that have joined, in any order.
	Peers []Peer
	// Asleep says that nothing of the machine is to run, and all that it has kept is to stay. A provider that cannot switch a machine off goes on.
	Asleep bool
}

// Size is how large a machine is. What is 0 is not bounded.
type Size struct {
	// MilliCPU is in thousandths of a processor, and Memory in bytes.
	MilliCPU int64 `json:"milliCPU,omitempty"`
	Memory   int64 `json:"memory,omitempty"`
}

// Cluster is what a machine has to know of the cluster that it joins.
type Cluster struct {
	// Organization and Name of the cluster, for users.
	Organization, Name string
	// Server is host:port at which nodes and pods reach the API server, and CA (PEM) what signs its certificate.
	Server string
	CA     []byte
	// PodCIDR and ServiceCIDR are the cluster's ranges.
	PodCIDR, ServiceCIDR netip.Prefix
	// DNS is the address of the cluster's name service, and DNSDomain the suffix of its names.
	DNS       netip.Addr
	DNSDomain string
	// CNI is the plugin of the pod network, as spec.cni of the Cluster: with routes the provider does, with all others
	// something that runs in the cluster.
	CNI string
}

// Peer is another machine of the same cluster.
type Peer struct {
	Address netip.Addr
	PodCIDR netip.Prefix
}

// State is how far a machine is.
type State string

// The states of a machine.
const (
	// Creating: not made yet, or not running for the first time yet.
	Creating State = "Creating"
	// Preparing: nothing of it is there, because what it is made of is not there yet; the message says how far that
	// is. Ensure is to be called again soon.
	Preparing State = "Preparing"
	// Awaiting: a user has to do something; the message says what.
	Awaiting State = "Awaiting"
	// Running: made, and what makes it a node runs.
	Running State = "Running"
	// Failing: made, but something of it does not run; the provider goes on trying.
	Failing State = "Failing"
	// Lost: nothing of it is there although its node has joined, as after a restore on another host. Nothing is made without a token: a
	// machine that has none could not join.
	Lost State = "Lost"
	// Asleep: made, and switched off as is wanted.
	Asleep State = "Asleep"
)

// Observed is how a machine is.
type Observed struct {
	State State
	// Message says, for users and without times, what is waited for or what is wrong.
	Message string
	// ProviderID names the machine for good, such as "kqueen://local/<uid>".
	ProviderID string
	// Address at which the kubelet is reached; invalid while it is not known.
	Address netip.Addr
	// LifeBegan is when what the node runs in began to run, or, while it does not, when it ended: what the node said before is
	// of an earlier life. It changes with lives alone. Zero when the provider does not know.
	LifeBegan time.Time
	// Isolation is how far the machine is kept apart from the host that it shares with others, and IsolationMessage why not
	// further. Empty for a machine that has its own.
	Isolation        Isolation
	IsolationMessage string
	// TrustHash tells which authorities of its cluster the programs of the machine trust, and that its node has certificates of the first
	// of them; empty while that is not known.
	TrustHash string
}

// Isolation is how far a machine is kept apart from its host.
type Isolation string

// The levels, the best first. Both have processes, a network and a file system of their own.
const (
	// IsolationUserNamespace: the machine's root is an ordinary user of the host without rights.
	IsolationUserNamespace Isolation = "UserNamespace"
	// IsolationOwnRoot: the machine's root is the host's, so that a pod that may be privileged is not kept in.
	IsolationOwnRoot Isolation = "OwnRoot"
)

// ProviderID returns the name for good of a machine.
func ProviderID(provider string, uid types.UID) string {
	return "kqueen://" + provider + "/" + string(uid)
}

// Errors that the machine controller acts on, beside *invalid.Error. A provider wraps them with its own words, which
// users read.
var (
	// ErrUnsupported says that a provider cannot work on this host; its text says why.
	ErrUnsupported = errors.New("this host cannot run machines")
	// ErrCapacity says that there is no capacity for the machine now, or that a quota outside is used up.
	ErrCapacity = errors.New("there is no capacity")
)
