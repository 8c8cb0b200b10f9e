package secrets

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access/token"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// clientSecrets are those that identity providers want of KQueen.
type clientSecrets struct {
	callers   client.Client
	rights    *rights.Rights
	providers identityprovider.Source
	now       func() time.Time
}

func (h *clientSecrets) register(api huma.API) {
	o := chain.Operation(http.MethodPut, "/identityproviders/{identityProvider}/secret", "setIdentityProviderSecret",
		"Set the secret of an identity provider's client, which does not come out again", "IdentityProviders", chain.Recorded("set-secret"))
	o.DefaultStatus = http.StatusNoContent
	huma.Register(api, o, h.setProviderSecret)
}

type providerSecretInput struct {
	IdentityProvider string `path:"identityProvider" maxLength:"63"`
	Body             rest.ClientSecret
}

// setProviderSecret writes as KQueen itself, since no caller may write Secrets. That the caller may is asked before, and
// once more by what the caller does.
func (h *clientSecrets) setProviderSecret(ctx context.Context, in *providerSecretInput) (*struct{}, error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "IdentityProvider", Name: in.IdentityProvider}
	if err := h.rights.Require(ctx, rights.Act{Verb: "update", Resource: "identityproviders", Name: in.IdentityProvider}); err != nil {
		return nil, err
	}
	if err := chain.RequireFresh(ctx); err != nil {
		return nil, err
	}
	if !rights.Speakable(in.IdentityProvider) {
		return nil, problem.NotFound()
	}
	p := &v1alpha1.IdentityProvider{}
	if err := h.callers.Get(ctx, client.ObjectKey{Name: in.IdentityProvider}, p); err != nil {
		return nil, problem.Explain(err)
	}
	r.Object.UID = string(p.UID)
	if !p.DeletionTimestamp.IsZero() {
		return nil, problem.NotFound()
	}
	if err := h.providers.SetSecret(ctx, p, token.Secret(in.Body.Secret)); err != nil {
		return nil, problem.Explain(err)
	}
	// The reconciler does not watch Secrets; this triggers it.
	patch := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationSecretSetAt + `":"` + h.now().UTC().Format(time.RFC3339Nano) + `"}}}`)
	if err := h.callers.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, problem.Explain(err)
	}
	return nil, nil
}
