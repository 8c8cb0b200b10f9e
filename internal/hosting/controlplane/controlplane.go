package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Stores opens data stores. *DataStores offers it.
type Stores interface {
	Open(ctx context.Context, name string) (*Store, error)
}

// Tenants connects to the API servers of control planes. *kube.Remotes offers it.
type Tenants interface {
	// Direct returns a client of the API server that a kubeconfig names, the same one under the same name for as long
	// as the kubeconfig stays. It makes no call.
	Direct(name string, kubeconfig []byte) (client.Client, error)
	// Forget drops the client of a name.
	Forget(name string)
}

// Config is what the reconciler of ControlPlane is made of. All fields but Recorder, EgressAllowed, EgressClosed, Issuer, Ended,
// Tenants and Sizes are required.
type Config struct {
	// Client of the admin plane.
	Client client.Client
	// Secrets reads Secrets of the admin plane, without a cache: keys are not kept in memory.
	Secrets  client.Reader
	Stores   Stores
	Gates    Gates
	Releases Releases
	Runner   runner.Runner
	// Ask asks the API server that a kubeconfig names for a path and returns the HTTP status.
	Ask      func(ctx context.Context, kubeconfig []byte, path string) (int, error)
	Recorder events.EventRecorder
	// Domain is the suffix of all server names at the gateway.
	Domain string
	// GatewayAddress is host:port at which clients find the gateway.
	GatewayAddress string
	// AdvertiseAddress is how nodes and pods reach this host.
	AdvertiseAddress netip.Addr
	// EgressAllowed is what API servers of all organizations may call beside their own clusters.
	EgressAllowed []egress.Destination
	// EgressClosed are the ranges of this host's machines, which neither that nor an organization's own list opens.
	EgressClosed []netip.Prefix
	// Issuer signs the credentials that API servers take; its Audience is not looked at, because each has its own.
	// Nil where KQueen issues none.
	Issuer *TokenIssuer
	// Ended tells which sessions and tokens, of those with which a user got a credential for an audience, have ended:
	// TokenIssuer's Ended. It must be there when Issuer is. When its answer changes, the control plane is reconciled again.
	Ended func(audience string) []string
	// Tenants connects to control planes. It must be there when Issuer is.
	Tenants Tenants
	// Sizes tells what control planes hold in data stores. Nil where it is not measured.
	Sizes Sizes
	// Now tells the time by which certificates are judged.
	Now func() time.Time
}

// reconciler holds the phases.
type reconciler struct{ Config }

// New returns the reconciler of ControlPlane.
func New(c Config) *operator.Reconciler[*v1alpha1.ControlPlane] {
	r := &reconciler{c}
	return operator.New(operator.Config[*v1alpha1.ControlPlane]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.ControlPlane { return &v1alpha1.ControlPlane{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/controlplane",
		Ready:     "the API server is healthy, and all components answer",
		// Removed in reverse: nothing runs before the name, the data and the keys go. The endpoint, by
		// which gateways know the route, is there before the components run, so that one failing component does not hide a
		// healthy API server.
		Phases: []operator.Phase[*v1alpha1.ControlPlane]{
			{Condition: v1alpha1.ConditionKeysReady, Ensure: r.ensureKeys, Remove: r.removeKeys},
			{Condition: v1alpha1.ConditionStoreReady, Ensure: r.ensureKeyspace, Remove: r.removeKeyspace},
			{Condition: v1alpha1.ConditionEndpointReady, Ensure: r.ensureEndpoint, Remove: r.removeEndpoint},
			{Condition: v1alpha1.ConditionComponentsReady, Ensure: r.ensureComponents, Remove: r.removeComponents},
			{Condition: v1alpha1.ConditionAccessReady, Ensure: r.ensureAccess, Remove: r.forgetAccess},
			{Condition: v1alpha1.ConditionInitialized, Ensure: r.awaitControllers},
		},
	})
}

// ServerName is the host name at the gateway of the control plane of that name. Two control planes never share one:
// neither names nor namespaces have dots, and the fixed label keeps organizations and other
// namespaces apart.
func ServerName(of types.NamespacedName, domain string) string {
	organization, ok := v1alpha1.OrganizationOf(of.Namespace)
	if !ok {
		return fmt.Sprintf("%s.%s.ns.%s", of.Name, of.Namespace, domain)
	}
	return fmt.Sprintf("%s.%s.%s", of.Name, organization, domain)
}

func serverName(cp *v1alpha1.ControlPlane, domain string) string {
	return ServerName(client.ObjectKeyFromObject(cp), domain)
}
