package provision

import (
	"context"
	"encoding/json"
	"time"
)

// What not every driver can. All that [Driver] promises holds for these interfaces, too: no method blocks for longer
// than one call to the outside or outlives its context, every one is idempotent unless it says otherwise, and errors
// are the same.

// Upgrader says which versions a cluster may have next.
type Upgrader interface {
	// Versions are those that Check takes for a cluster that runs from, without from itself, or for a new cluster when
	// from is empty; the oldest first. It changes nothing.
	Versions(ctx context.Context, of Target, from string) ([]string, error)
}

// KubeconfigMinter issues kubeconfigs that expire. The caller keeps the last one, and has another one
// minted before it expires.
type KubeconfigMinter interface {
	// MintKubeconfig returns a kubeconfig for the cluster's administrator. It lives for about lifetime, or as long as
	// the outside allows. Each call may make another one; none needs to be removed. ErrUnreachable while its API
	// server is not healthy.
	MintKubeconfig(ctx context.Context, of Target, lifetime time.Duration) (Minted, error)
}

// Minted is a kubeconfig that ends. It is a secret.
type Minted struct {
	Kubeconfig []byte
	// Ends is when it is no longer good.
	Ends time.Time
}

// CredentialChecker reaches its clusters by the credentials that users set for each, which are its
// [Description.ClusterCredentials]. No kubeconfig of such a cluster is published, and it gets no node pools.
type CredentialChecker interface {
	// CheckCredentials says whether the cluster of a target takes its ClusterCredentials, and returns them as they are to be kept.
	// It changes nothing. Credentials that cannot be used are an *invalid.Error, those that the cluster refuses are
	// [ErrCredentials], and ErrUnreachable when it does not answer; with these two they are returned, too.
	CheckCredentials(ctx context.Context, of Target) (Credentials, error)
}

// NodePooler has the outside make, mend and replace the nodes of a cluster. They belong to the cluster: Delete of the
// cluster removes them.
type NodePooler interface {
	// EnsureNodePool begins or goes on to make the pool so, and says how it is.
	EnsureNodePool(ctx context.Context, of Target, want NodePool) (ObservedNodePool, error)
	// DeleteNodePool begins or goes on to remove the pool, and says whether nothing of it is left.
	DeleteNodePool(ctx context.Context, of Target, name string) (gone bool, err error)
	// NodePools names those that there are, sorted.
	NodePools(ctx context.Context, of Target) ([]string, error)
}

// NodePool is a pool of nodes as a user wants it.
type NodePool struct {
	// Name is unique in the cluster.
	Name string
	// Replicas is how many nodes there are to be.
	Replicas int32
	// Version of Kubernetes on the nodes.
	Version string
	// Parameters are what only the driver knows, such as a type of machine; nil for none.
	Parameters json.RawMessage
}

// ObservedNodePool is how a pool is.
type ObservedNodePool struct {
	// Ready is how many nodes are there and ready.
	Ready int32
	// Message says, for users and without times, what is being waited for; empty when the pool is as wanted.
	Message string
}

// Adopter takes over clusters that exist.
type Adopter interface {
	// Adopt makes the cluster that the outside knows as id the one of want.Ref: from then on Observe, Ensure and Delete
	// are about it. Nothing in it changes. ErrNotFound when there is none; an *invalid.Error when it already is the
	// cluster of another UID.
	Adopt(ctx context.Context, want Desired, id string) error
	// Release lets go of a cluster and leaves it running. Observe does not find it after that. No error when there is
	// none.
	Release(ctx context.Context, of Target) error
}

// Resizer changes how large a control plane is.
type Resizer interface {
	// Sizes are those that there are, the smallest first.
	Sizes(ctx context.Context, of Target) ([]string, error)
	// Resize begins or goes on to give the control plane the size, which Observe reports when it is done. A size that
	// is none is an *invalid.Error.
	Resize(ctx context.Context, of Target, size string) error
}

// PodSecurer holds the pods of its clusters to Desired.PodSecurity.
type PodSecurer interface {
	// DefaultPodSecurity is the level of a new cluster for which none is said. It is pure.
	DefaultPodSecurity() string
}

// Hibernator has its clusters sleep as Desired.Asleep says, in the state Asleep, and has them woken when a client connects.
type Hibernator interface {
	// Waits says whether a client waits for the cluster to wake.
	Waits(ctx context.Context, of Target) (bool, error)
	// Woken is told that the cluster is being woken, so that the next Waits is about other clients.
	Woken(ctx context.Context, of Target) error
}

// Names of what not every driver can, as a Provisioner's status has them.
const (
	FeatureAdoption       = "Adoption"
	FeatureHibernation    = "Hibernation"
	FeatureKubeconfigs    = "Kubeconfigs"
	FeatureNodePools      = "NodePools"
	FeaturePodSecurity    = "PodSecurity"
	FeatureSizes          = "Sizes"
	FeatureUpgradeOptions = "UpgradeOptions"
)

// Features names what a driver can beyond [Driver], sorted. It is pure.
func Features(d Driver) []string {
	var all []string
	if _, ok := d.(Adopter); ok {
		all = append(all, FeatureAdoption)
	}
	if _, ok := d.(Hibernator); ok {
		all = append(all, FeatureHibernation)
	}
	if _, ok := d.(KubeconfigMinter); ok {
		all = append(all, FeatureKubeconfigs)
	}
	if _, ok := d.(NodePooler); ok {
		all = append(all, FeatureNodePools)
	}
	if _, ok := d.(PodSecurer); ok {
		all = append(all, FeaturePodSecurity)
	}
	if _, ok := d.(Resizer); ok {
		all = append(all, FeatureSizes)
	}
	if _, ok := d.(Upgrader); ok {
		all = append(all, FeatureUpgradeOptions)
	}
	return all
}
