package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access/token"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// registerProviders adds what identity providers have beside what all kinds have.
func (s *Server) registerProviders() {
	o := operation(http.MethodPut, "/identityproviders/{identityProvider}/secret", "setIdentityProviderSecret",
		"Set the secret of an identity provider's client, which does not come out again", "IdentityProviders", recorded("set-secret"))
	o.DefaultStatus = http.StatusNoContent
	huma.Register(s.api, o, s.setProviderSecret)
}

// providers are the identity providers.
func (s *Server) providers() identityprovider.Source {
	return identityprovider.Source{Providers: s.Cache, Secrets: s.Own}
}

func (s *Server) listProviders(ctx context.Context, _ *struct{}) (*ok[rest.Page[rest.Provider]], error) {
	all, err := s.providers().List(ctx)
	if err != nil {
		return nil, explain(err)
	}
	page := rest.Page[rest.Provider]{Items: make([]rest.Provider, 0, len(all))}
	for i := range all {
		page.Items = append(page.Items, rest.Provider{Name: all[i].Name, DisplayName: all[i].Spec.DisplayName})
	}
	return &ok[rest.Page[rest.Provider]]{Body: page}, nil
}

type providerSecretInput struct {
	IdentityProvider string `path:"identityProvider" maxLength:"63"`
	Body             rest.ClientSecret
}

// setProviderSecret writes as KQueen itself, since nobody may enter Secrets. That the caller may is asked before, and
// once more by what the caller does.
func (s *Server) setProviderSecret(ctx context.Context, in *providerSecretInput) (*struct{}, error) {
	r := requestOf(ctx)
	r.object = objectName{kind: "IdentityProvider", name: in.IdentityProvider}
	if err := s.mayHere(ctx, "update", "identityproviders", "", "", in.IdentityProvider); err != nil {
		return nil, err
	}
	p := &v1alpha1.IdentityProvider{}
	if err := s.Callers.Get(ctx, client.ObjectKey{Name: in.IdentityProvider}, p); err != nil {
		return nil, explain(err)
	}
	r.object.uid = string(p.UID)
	if !p.DeletionTimestamp.IsZero() {
		return nil, notFound()
	}
	if err := s.providers().SetSecret(ctx, p, token.Secret(in.Body.Secret)); err != nil {
		return nil, explain(err)
	}
	// The reconciler does not follow Secrets; this wakes it.
	patch := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationSecretSetAt + `":"` + s.Now().UTC().Format(time.RFC3339Nano) + `"}}}`)
	if err := s.Callers.Patch(ctx, p, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, explain(err)
	}
	return nil, nil
}
