// Package rights asks what the caller of a request may do. The API server of the admin plane decides it, by RBAC; here is
// only asked, for what handlers do as KQueen itself or from a cache. To a caller who does not belong to an organization it
// does not exist. The handlers below package server may import it.
package rights

import (
	"context"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// Rights ask the admin plane. Make them with New.
type Rights struct {
	authority *kube.Authority
	cache     client.Reader
}

// New returns rights that are asked by own, of organizations that the cache has.
func New(own client.Client, cache client.Reader, now func() time.Time) *Rights {
	return &Rights{authority: kube.NewAuthority(own, now), cache: cache}
}

// Act is what a caller wants to do, as RBAC has it. An empty Group is KQueen's own.
type Act struct{ Group, Verb, Resource, Subresource, Namespace, Name string }

// Allows says whether the caller may. An error says that this could not be found out, and is never a refusal.
func (r *Rights) Allows(ctx context.Context, a Act) (bool, error) {
	if a.Group == "" {
		a.Group = v1alpha1.GroupVersion.Group
	}
	known := chain.Of(ctx)
	allowed, err := r.authority.May(ctx, known.Caller.As(known.ID), authorizationv1.ResourceAttributes{
		Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Verb: a.Verb, Namespace: a.Namespace, Name: a.Name,
	})
	if err != nil {
		return false, problem.Unasked(err)
	}
	return allowed, nil
}

// needed is the lowest role that may; "" for administrators alone.
func (a Act) needed() v1alpha1.Role {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	ofOrganization := strings.HasPrefix(a.Namespace, v1alpha1.NamespacePrefix) || a.Resource == "organizations"
	if a.Group != "" && a.Group != v1alpha1.GroupVersion.Group || !ofOrganization {
		return ""
	}
	return role.Needed(a.Verb, resource)
}

// Explain makes a problem of what the admin plane answered to an act of the caller's.
func (a Act) Explain(err error) error { return problem.Refused(err, a.needed()) }

// Require returns a problem when the caller may not.
func (r *Rights) Require(ctx context.Context, a Act) error {
	allowed, err := r.Allows(ctx, a)
	if err == nil && !allowed {
		return problem.Forbidden(a.needed())
	}
	return err
}

// RequireIn is Require for what belongs to an organization and is no object; it notes for the audit log what it is about.
func (r *Rights) RequireIn(ctx context.Context, organization, verb, resource, name string) error {
	if _, err := r.Organization(ctx, organization); err != nil {
		return err
	}
	chain.Of(ctx).Object = chain.Object{Organization: organization, Kind: resource, Name: name}
	return r.Require(ctx, Act{Verb: verb, Resource: resource, Namespace: v1alpha1.NamespacePrefix + organization, Name: name})
}

// Speakable says whether an object can have that name at all: one with a slash would lead elsewhere.
func Speakable(name string) bool { return len(content.IsPathSegmentName(name)) == 0 }

// Organization returns an organization of the caller's, and notes it for the audit log. To a caller who does not belong
// there, there is none.
func (r *Rights) Organization(ctx context.Context, name string) (*v1alpha1.Organization, error) {
	o := &v1alpha1.Organization{}
	err := r.cache.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) || err == nil && !chain.Of(ctx).Caller.Belongs(name) {
		return nil, problem.NotFound()
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	chain.Of(ctx).Object.Organization = name
	return o, nil
}

// Object reads an object of an organization into o, as the caller, once the caller may do that with it, and notes it for the audit log.
func (r *Rights) Object(ctx context.Context, callers client.Client, organization, verb, resource, name string, o client.Object) error {
	of, err := r.Organization(ctx, organization)
	if err != nil {
		return err
	}
	kind, err := callers.GroupVersionKindFor(o)
	if err != nil {
		return problem.Explain(err)
	}
	noted := &chain.Of(ctx).Object
	noted.Kind, noted.Name = kind.Kind, name
	if err := r.Require(ctx, Act{Verb: verb, Resource: resource, Namespace: of.OwnedNamespace(), Name: name}); err != nil {
		return err
	}
	if !Speakable(name) {
		return problem.NotFound()
	}
	if err := callers.Get(ctx, client.ObjectKey{Namespace: of.OwnedNamespace(), Name: name}, o); err != nil {
		return problem.Explain(err)
	}
	noted.UID = string(o.GetUID())
	return nil
}
