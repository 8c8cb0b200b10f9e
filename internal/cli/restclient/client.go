// Package restclient is an installation's REST API in the shape of a Kubernetes
// client, so that commands handle objects of the types in api/v1alpha1.
//
// It translates objects, selectors, watches and refusals, and hides that
// organizations are namespaces on the one side and paths on the other. What the
// REST API does not have is refused in words. Only internal/cli enters it.
package restclient

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

// restClient is what New returns.
type restClient struct {
	api    *kqueen.Client
	scheme *runtime.Scheme
	// organization is the one through which is read what all share.
	organization string
}

// New returns a client of the objects that the API serves. organization is one of the caller's, through which is read what
// all organizations share. No call is made.
func New(api *kqueen.Client, scheme *runtime.Scheme, organization string) client.WithWatch {
	return &restClient{api, scheme, organization}
}

// Scheme implements client.Client.
func (c *restClient) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper implements client.Client.
func (c *restClient) RESTMapper() apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	for kind := range c.scheme.KnownTypes(v1alpha1.GroupVersion) {
		scope := apimeta.RESTScopeNamespace
		if isGlobal(kind) {
			scope = apimeta.RESTScopeRoot
		}
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), scope)
	}
	return mapper
}

// GroupVersionKindFor implements client.Client.
func (c *restClient) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, c.scheme)
}

// IsObjectNamespaced implements client.Client.
func (c *restClient) IsObjectNamespaced(o runtime.Object) (bool, error) {
	kind, err := c.kindOf(o)
	return !isGlobal(kind), err
}

// Status implements client.Client. Statuses are KQueen's to write.
func (c *restClient) Status() client.SubResourceWriter { return unserved{"status"} }

// SubResource implements client.Client.
func (c *restClient) SubResource(name string) client.SubResourceClient { return unserved{name} }

// Apply implements client.Client.
func (c *restClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return refused("server-side apply")
}

// DeleteAllOf implements client.Client.
func (c *restClient) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return refused("deleting without names")
}

// kindOf is the kind of an object or a list of objects, if it is one of KQueen's.
func (c *restClient) kindOf(o runtime.Object) (string, error) {
	gvk, err := apiutil.GVKForObject(o, c.scheme)
	if err != nil {
		return "", fmt.Errorf("find the kind: %w", err)
	}
	if gvk.GroupVersion() != v1alpha1.GroupVersion {
		return "", refused(gvk.Kind + " of " + gvk.GroupVersion().String())
	}
	return gvk.Kind, nil
}

// isGlobal says whether objects of a kind belong to the installation, and so are in no namespace.
func isGlobal(kind string) bool {
	switch kind {
	case "Organization", "Release", "DataStore", "IdentityProvider":
		return true
	}
	return false
}

// refused is the error for what the REST API does not have.
func refused(what string) error {
	return fmt.Errorf("%s: the API does not have this", what)
}

// unserved refuses all that is below an object.
type unserved struct{ name string }

func (u unserved) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return refused(u.name)
}

func (u unserved) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return refused(u.name)
}

func (u unserved) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return refused(u.name)
}

func (u unserved) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return refused(u.name)
}

func (u unserved) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return refused(u.name)
}
