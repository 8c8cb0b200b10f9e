// Package provision is the driver interface: KQueen creates, observes and deletes every cluster through it.
//
// It hides from its callers how a cluster comes to be. Drivers live in packages of their own and do not know each
// other; package all lists them, and package provisiontest holds the suite that every driver must pass. What not every
// driver can is an interface of its own (see [Features]), found by type assertion as io.WriterTo is. The reconciler
// in package cluster calls drivers; a driver never calls it back and never writes a Cluster. docs/development/drivers.md shows a
// whole driver.
package provision

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Driver creates clusters of one sort. No method blocks for longer than one call to the outside, and none outlives its
// context: the caller bounds each call, and counts a driver that goes on as broken. Long work goes on outside and is
// seen by Observe. Every method is idempotent, safe for concurrent use, and safe after a crash of KQueen at any
// instruction of an earlier call.
//
// A call that did not come through is an error, never the news that there is nothing. Errors that the caller acts on
// are [ErrNotFound], [ErrUnreachable], [ErrCapacity] and *invalid.Error; no error holds a secret.
type Driver interface {
	// Describe says what the driver is. It is pure.
	Describe() Description
	// Check says whether the driver takes want, which replaces have, or is new when have is nil. It
	// changes nothing. Bad input is an *invalid.Error. The parameters of want are what ClusterSchema describes, or those
	// of have, which an earlier version of the schema may have described.
	Check(ctx context.Context, have *Desired, want Desired) error
	// Ensure begins or goes on to bring the cluster to the desired state. A nil error says that the work has begun, goes on
	// or is done, not that the cluster is healthy. Input that Check refuses is an *invalid.Error here too.
	Ensure(ctx context.Context, want Desired) error
	// Observe says how the cluster is. ErrNotFound when there is none. A cluster of the same name and another UID is
	// never shown; that it is in the way may be said as an *invalid.Error.
	Observe(ctx context.Context, of Target) (Observed, error)
	// Delete begins or goes on to remove the cluster, and says whether nothing of it is left. A cluster of the same
	// name and another UID is not touched.
	Delete(ctx context.Context, of Target) (gone bool, err error)
}

// Description is what a driver is.
type Description struct {
	// Name by which a Provisioner asks for the driver.
	Name string
	// Summary is one sentence for users.
	Summary string
	// ProvisionerSchema and ClusterSchema are JSON Schemas (2020-12) of spec.parameters of a
	// Provisioner and of a Cluster.
	ProvisionerSchema, ClusterSchema json.RawMessage
	// Credentials are those that the driver takes, in the order in which a form asks for them; nil for none. A driver
	// is not called before those that are not optional are set.
	Credentials []Credential
	// ClusterCredentials are those that users set for each cluster, where it is reached by what is its user's own; nil for none.
	// Nothing is asked of a cluster before those that are not optional are set. A driver that has some is a
	// [CredentialChecker].
	ClusterCredentials []Credential
	// Owns lists kinds whose objects the driver makes with the Cluster as their owner: the Cluster is reconciled when
	// one changes.
	Owns []client.Object
}

// Ref names a cluster for good: the UID tells it from an earlier one of the same name.
type Ref struct {
	UID       types.UID
	Namespace string
	Name      string
}

// Target is a cluster that there may be, with all that a driver needs to find it again: after a restart a driver
// knows nothing else.
type Target struct {
	Ref
	// ProvisionerParameters and ClusterParameters are what the driver's schemas describe; nil for none.
	ProvisionerParameters, ClusterParameters json.RawMessage
	// Credentials of the Provisioner; nil where the driver takes none.
	Credentials Credentials
	// ClusterCredentials are those of this cluster; nil where the driver takes none. Delete and Check do without.
	ClusterCredentials Credentials
}

// Desired is a cluster as a user wants it.
type Desired struct {
	Target
	// Version of Kubernetes, such as "v1.36.3"; empty when its user named none. A driver that creates clusters refuses that.
	Version string
	// EmulatedVersion is the older minor that a control plane is to behave as, such as "v1.35", for drivers that host it themselves; empty for
	// that of Version.
	EmulatedVersion string
	// Network is the cluster's addressing.
	Network v1alpha1.Network
	// PodSecurity is the level that pods are held to; empty: the one that the cluster has, and for a new one the driver's
	// own. Only a [PodSecurer] is given one.
	PodSecurity string
	// AuditLog is what the API server is to write down, one of v1alpha1.AuditNone and its like, for drivers that host it
	// themselves; empty for what they do unasked.
	AuditLog string
	// Asleep says that nothing of the cluster is to run. Only a [Hibernator] is told so.
	Asleep bool
	// RestoreUID is that of the Restore that creates the cluster, for drivers that host the control plane themselves: it is created, and stands
	// still until all is written. Empty once it has run.
	RestoreUID string
}

// State is how far a cluster is.
type State string

// The states of a cluster.
const (
	// Creating: not created yet, or its API server has not been healthy yet.
	Creating State = "Creating"
	// Healthy: created, and its API server is healthy.
	Healthy State = "Healthy"
	// Degraded: created, but a part of it is not healthy; the driver or an operator has to repair it.
	Degraded State = "Degraded"
	// Failed: only a change of the spec helps.
	Failed State = "Failed"
	// Asleep: nothing of it runs, as is wanted.
	Asleep State = "Asleep"
)

// Observed is how a cluster is.
type Observed struct {
	State State
	// Message says, for users and without times, what is being waited for or what is wrong.
	Message string
	// Steps are the driver's steps in their order.
	Steps []v1alpha1.Step
	// Version of Kubernetes that runs; empty while none does.
	Version string
	// EmulatedVersion is the older minor that its control plane behaves as; empty for that of Version.
	EmulatedVersion string
	// Endpoint is the URL of the API server; empty while there is none.
	Endpoint string
	// Kubeconfig is for the cluster's administrator; nil while there is none, and where the driver is a
	// [KubeconfigMinter] or a [CredentialChecker]. It is a secret.
	Kubeconfig []byte
	// Join is how nodes reach the API server; nil while that is not known, and where the driver makes the nodes itself.
	Join *v1alpha1.JoinEndpoint
	// Size of the control plane, where the driver is a [Resizer].
	Size string
}
