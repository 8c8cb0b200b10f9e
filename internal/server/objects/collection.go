package objects

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// collection serves one kind: it reads lists from a cache, once the API server has said that the caller may, and does
// everything else as the caller on the admin plane itself.
type collection struct {
	kind

	schemas *schemas
	// callers makes each call as the caller, own as KQueen.
	callers, own client.WithWatch
	cache        client.Reader
	rights       *rights.Rights
	cursors      cursors
	feed         feed
}

// namespaceOf is where the objects of a request live. A caller who does not belong there is told that there is nothing.
func (c collection) namespaceOf(ctx context.Context) (string, error) {
	if !c.InOrganization() {
		return "", nil
	}
	o, err := c.rights.Organization(ctx, chain.Of(ctx).Path("organization"))
	if err != nil {
		return "", err
	}
	return o.OwnedNamespace(), nil
}

// act is what a caller does with an object of the kind.
func (k kind) act(verb string, o client.Object) rights.Act {
	return rights.Act{Verb: verb, Resource: k.Plural, Namespace: o.GetNamespace()}
}

// may requires that the caller may do that with the objects of a namespace.
func (c collection) may(ctx context.Context, verb, namespace string) error {
	return c.rights.Require(ctx, rights.Act{Verb: verb, Resource: c.Plural, Namespace: namespace})
}

type listOutput struct {
	Link string `header:"Link" doc:"The next page, as RFC 8288 has it."`
	Body rest.List
}

func (c collection) listObjects(ctx context.Context, in *listInput) (*listOutput, error) {
	namespaces, err := c.readable(ctx)
	if err != nil {
		return nil, err
	}
	return c.listed(ctx, in, namespaces, func(client.Object) bool { return true })
}

// listed answers with a page of what is visible in namespaces.
func (c collection) listed(ctx context.Context, in *listInput, namespaces []string, visible func(client.Object) bool) (*listOutput, error) {
	matches, err := in.matcher()
	if err != nil {
		return nil, err
	}
	wanted := func(o client.Object) bool { return visible(o) && matches(o) }
	r := chain.Of(ctx)
	scope := in.scope(r.Caller.Name, c.Plural+"/"+r.Path("organization"))
	after, err := c.cursors.decode(scope, in.Cursor)
	if err != nil {
		return nil, err
	}
	all, err := c.cached(ctx, namespaces, wanted)
	if err != nil {
		return nil, problem.Explain(err)
	}
	page, last := pageOf(all, in.Query, after)
	out := &listOutput{Body: rest.List{Items: make([]rest.Object, 0, len(page))}}
	for _, o := range page {
		item, err := toRest(c.kind, o)
		if err != nil {
			return nil, problem.Explain(err)
		}
		out.Body.Items = append(out.Body.Items, item)
	}
	if last == nil {
		return out, nil
	}
	if out.Body.Cursor, err = c.cursors.encode(scope, *last); err != nil {
		return nil, problem.Explain(err)
	}
	out.Link = "<?cursor=" + out.Body.Cursor + `>; rel="next"`
	return out, nil
}

// readable are the namespaces whose objects the caller may list; "" is for kinds that are in none.
func (c collection) readable(ctx context.Context) ([]string, error) {
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return nil, err
	}
	if c.Name == "Organization" { // each is listed for those who belong to it
		return []string{""}, nil
	}
	if err := c.may(ctx, "list", namespace); err != nil {
		return nil, err
	}
	if c.Scope == rest.ScopeShared {
		return []string{namespace, v1alpha1.SystemNamespace}, nil
	}
	return []string{namespace}, nil
}

// cached reads from the cache. Its objects are shared by all requests and are not changed.
func (c collection) cached(ctx context.Context, namespaces []string, wanted func(client.Object) bool) (all []client.Object, err error) {
	caller := chain.Of(ctx).Caller
	for _, namespace := range namespaces {
		list := c.list()
		if err := c.cache.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if wanted(o) && (c.Name != "Organization" || caller.Belongs(o.GetName())) {
				all = append(all, o)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

type objectOutput struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     rest.Object
}

func (c collection) output(o client.Object) (*objectOutput, error) {
	object, err := toRest(c.kind, o)
	if err != nil {
		return nil, problem.Explain(err)
	}
	return &objectOutput{ETag: `"` + object.Revision + `"`, Body: object}, nil
}

func (c collection) getObject(ctx context.Context, in *getInput) (*objectOutput, error) {
	o, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	out, err := c.output(o)
	if err == nil && slices.Contains(tags(in.IfNoneMatch), out.Body.Revision) {
		return nil, problem.Unchanged(out.ETag)
	}
	return out, err
}

// addressed returns what the path says of an object: its kind, namespace and name.
func addressed(ctx context.Context, c collection) (*unstructured.Unstructured, error) {
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	name := r.Path(c.Parameter())
	if !rights.Speakable(name) || c.Name == "Organization" && !r.Caller.Belongs(name) {
		return nil, problem.NotFound()
	}
	r.Object.Name = name
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(c.gvk())
	o.SetNamespace(namespace)
	o.SetName(name)
	return o, nil
}

// read reads the object of the path, as the caller.
func (c collection) read(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := addressed(ctx, c)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(o)
	err = c.callers.Get(ctx, key, o)
	if apierrors.IsNotFound(err) && c.Scope == rest.ScopeShared {
		key.Namespace = v1alpha1.SystemNamespace
		err = c.callers.Get(ctx, key, o)
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	chain.Of(ctx).Object.UID = string(o.GetUID())
	return o, nil
}
