// Package restclient is an installation's REST API in the shape of a Kubernetes
// client, so that a command is the same for the owner of the machine, who
// speaks to the admin plane itself, and for a member, who comes by HTTPS.
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

// doorClient is what New returns.
type doorClient struct {
	door   *kqueen.Client
	scheme *runtime.Scheme
	// organization is the one through which is read what all share.
	organization string
}

// New returns a client of what the door serves. organization is one of the caller's, through which is read what
// all organizations share. No call is made.
func New(door *kqueen.Client, scheme *runtime.Scheme, organization string) client.WithWatch {
	return &doorClient{door, scheme, organization}
}

// Scheme implements client.Client.
func (c *doorClient) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper implements client.Client.
func (c *doorClient) RESTMapper() apimeta.RESTMapper {
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
func (c *doorClient) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, c.scheme)
}

// IsObjectNamespaced implements client.Client.
func (c *doorClient) IsObjectNamespaced(o runtime.Object) (bool, error) {
	kind, err := c.kindOf(o)
	return !isGlobal(kind), err
}

// Status implements client.Client. Statuses are KQueen's to write.
func (c *doorClient) Status() client.SubResourceWriter { return unserved{"status"} }

// SubResource implements client.Client.
func (c *doorClient) SubResource(name string) client.SubResourceClient { return unserved{name} }

// Apply implements client.Client.
func (c *doorClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return refused("server-side apply")
}

// DeleteAllOf implements client.Client.
func (c *doorClient) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return refused("deleting without names")
}

// kindOf is the kind of an object or a list of objects, if it is one of KQueen's.
func (c *doorClient) kindOf(o runtime.Object) (string, error) {
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

// refused is the error for what only who owns the machine can do.
func refused(what string) error {
	return fmt.Errorf("%s: this does not go through the door; use it on the machine of the installation, with --data-dir or --kubeconfig", what)
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
