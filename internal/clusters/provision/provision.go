// Package provision is the plug through which KQueen gets clusters: one
// interface that every driver offers, whatever makes its clusters.
//
// It hides from everybody above how a cluster comes to be. Drivers live in
// folders of their own and do not know each other; package all lists them, and
// package provisiontest holds the suite that every driver must pass. The verb
// cluster enters here; a driver never calls it back and never writes a Cluster.
package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Driver makes clusters of one sort. No method blocks for longer than one call to the outside; long
// work goes on outside and is seen by Observe. Every method is idempotent, and safe after a crash of
// KQueen at any instruction of an earlier call.
type Driver interface {
	// Describe says what the driver is. It is pure.
	Describe() Description
	// Check says whether the driver takes want, which replaces have, or is new when have is nil. It
	// changes nothing. Bad input is an *InvalidError.
	Check(ctx context.Context, have *Desired, want Desired) error
	// Ensure begins or goes on to make the cluster so. A nil error says that the work goes on or is
	// done, not that the cluster serves. Input that Check refuses is an *InvalidError here too.
	Ensure(ctx context.Context, want Desired) error
	// Observe says how the cluster is. ErrNotFound when there is none.
	Observe(ctx context.Context, ref Ref) (Observed, error)
	// Delete begins or goes on to remove the cluster, and says whether nothing of it is left.
	Delete(ctx context.Context, ref Ref) (gone bool, err error)
}

// Description is what a driver is.
type Description struct {
	// Name by which a Provisioner asks for the driver.
	Name string
	// Summary is one sentence for people.
	Summary string
	// ProvisionerSchema and ClusterSchema are JSON Schemas (2020-12) of spec.parameters of a
	// Provisioner and of a Cluster.
	ProvisionerSchema, ClusterSchema json.RawMessage
	// Owns lists kinds whose objects the driver makes with the Cluster as their owner: a change of
	// one wakes the Cluster.
	Owns []client.Object
}

// Ref names a cluster for good: the UID tells it from an earlier one of the same name.
type Ref struct {
	UID       types.UID
	Namespace string
	Name      string
}

// Desired is the cluster that somebody wants.
type Desired struct {
	Ref
	// Version of Kubernetes, such as "v1.36.3".
	Version string
	// Network is the cluster's addressing.
	Network v1alpha1.Network
	// ProvisionerParameters and ClusterParameters are what the driver's schemas describe; nil for none.
	ProvisionerParameters, ClusterParameters json.RawMessage
}

// State is how far a cluster is.
type State string

// The states of a cluster.
const (
	// Creating: not made yet, or not serving for the first time yet.
	Creating State = "Creating"
	// Serving: made, and its API answers.
	Serving State = "Serving"
	// Degraded: made, but something of it does not work; the driver or an operator is to mend it.
	Degraded State = "Degraded"
	// Failed: only a change of the spec helps.
	Failed State = "Failed"
)

// Observed is how a cluster is.
type Observed struct {
	State State
	// Message says, for people and without times, what is being waited for or what is wrong.
	Message string
	// Steps are the driver's steps in their order.
	Steps []v1alpha1.Step
	// Version of Kubernetes that runs; empty while none does.
	Version string
	// Endpoint is the URL of the API server; empty while there is none.
	Endpoint string
	// Kubeconfig is for the cluster's administrator; nil while there is none. It is a secret.
	Kubeconfig []byte
	// Join is how nodes reach the API server; nil while nobody knows, and where the driver makes the nodes itself.
	Join *v1alpha1.JoinEndpoint
}

// ErrNotFound says that there is no such cluster.
var ErrNotFound = errors.New("cluster not found")

// InvalidError says what is wrong with the input, in which field, and what would be right.
type InvalidError struct {
	// Field is the path in the Cluster or the Provisioner, such as "spec.version".
	Field string
	// Problem says what is wrong and what would be right.
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Problem) }
