// Package identityprovider is the reconciler of IdentityProviders: it says whether users can sign in by a provider,
// and hands out providers, with their secrets, to the package that signs users in.
//
// It hides where the secret of a client is kept and to which provider it belongs. Package server may import it, and
// package app, which wires.
package identityprovider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
)

// lookInterval is the time between two looks at an issuer that answers. Keys are asked for when users sign in, so
// that this is for the status alone.
const lookInterval = 15 * time.Minute

// Config is what the reconciler needs. All fields but Recorder are required.
type Config struct {
	Client client.Client
	// Secrets reads Secrets, which no cache holds.
	Secrets client.Reader
	// Check asks an issuer what it says about itself.
	Check    func(context.Context, oidc.Provider) error
	Recorder events.EventRecorder
}

type reconciler struct{ Config }

// New returns the reconciler of IdentityProvider. It creates nothing: it looks, and says what it saw.
func New(c Config) *operator.Reconciler[*v1alpha1.IdentityProvider] {
	r := &reconciler{c}
	return operator.New(operator.Config[*v1alpha1.IdentityProvider]{
		Client:   c.Client,
		Recorder: c.Recorder,
		New:      func() *v1alpha1.IdentityProvider { return &v1alpha1.IdentityProvider{} },
		Ready:    "users can sign in by it",
		Phases: []operator.Phase[*v1alpha1.IdentityProvider]{
			{Condition: v1alpha1.ConditionSecretReady, Ensure: r.findSecret},
			{Condition: v1alpha1.ConditionDiscovered, Ensure: r.discover},
		},
	})
}

func (r *reconciler) findSecret(ctx context.Context, p *v1alpha1.IdentityProvider) operator.Outcome {
	if p.Spec.PublicClient {
		return operator.Done(v1alpha1.ReasonPublicClient, "the client has no secret, as the spec says")
	}
	_, err := secretOf(ctx, r.Secrets, p)
	switch {
	case errors.Is(err, errNoSecret):
		return operator.Stalled(v1alpha1.ReasonSecretMissing, "the client has no secret yet; set it with: kqueen identityprovider secret %s", p.Name)
	case errors.Is(err, errForeign):
		return operator.Stalled(v1alpha1.ReasonSecretForeign, "the Secret %s in %s was created for something else; delete it, and set the client's secret again", p.SecretName(), v1alpha1.SystemNamespace)
	case err != nil:
		return operator.Retry(v1alpha1.ReasonSecretUnread, err)
	}
	return operator.Done(v1alpha1.ReasonSecretSet, "the client's secret is set")
}

// nowhere stands for the address of the API server, which does not matter for discovery.
const nowhere = "https://kqueen.invalid"

func (r *reconciler) discover(ctx context.Context, p *v1alpha1.IdentityProvider) operator.Outcome {
	wanted := describe(p, "", nowhere)
	if err := wanted.Validate(); err != nil {
		return operator.Stalled(v1alpha1.ReasonProviderInvalid, "%v", err)
	}
	err := r.Check(ctx, wanted)
	if refused, ok := errors.AsType[*oidc.RefusedError](err); ok {
		return operator.Retry(v1alpha1.ReasonDiscoveryFailed, errors.New(refused.Reason))
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonDiscoveryFailed, fmt.Errorf("ask the issuer: %w", err))
	}
	return operator.DoneUntil(v1alpha1.ReasonDiscovered, "the issuer says what signing in needs", lookInterval)
}
