package restclient

import (
	"context"
	"fmt"
	"net/http"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

// Get implements client.Client. What is read is as it is now.
func (c *restClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	kind, err := c.kindOf(o)
	if err != nil {
		return err
	}
	p := c.place(kind, key.Namespace)
	if p.nowhere {
		return notFound(kind, key.Name)
	}
	found, err := c.api.GetObject(ctx, p.in, key.Name)
	if err != nil {
		return explain(err, kind, key.Name)
	}
	if namespaceOf(found) != key.Namespace {
		return notFound(kind, key.Name)
	}
	return fill(found, o)
}

// List implements client.Client. Of fields it selects by metadata.name alone; then what it says is as it is now, and
// otherwise it may be a moment behind.
func (c *restClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if events, ok := list.(*eventsv1.EventList); ok {
		return c.listEvents(ctx, events, options)
	}
	q, err := c.question(list, options)
	if err != nil {
		return err
	}
	found, err := c.answer(ctx, q)
	if err != nil {
		return explain(err, q.kind, q.name)
	}
	items := make([]runtime.Object, 0, len(found))
	for i := range found {
		if !q.wants(&found[i]) {
			continue
		}
		o, err := c.empty(q.kind)
		if err != nil {
			return err
		}
		if err := fill(&found[i], o); err != nil {
			return err
		}
		items = append(items, o)
	}
	if err := apimeta.SetList(list, items); err != nil {
		return fmt.Errorf("list %s: %w", q.kind, err)
	}
	return nil
}

// place is where the API has a namespace's objects of a kind.
type place struct {
	in kqueen.Collection
	// nowhere says that the API has no such place.
	nowhere bool
}

func (c *restClient) place(kind, namespace string) place {
	p := place{in: kqueen.Collection{Kind: kind}}
	organization, ok := organizationOf(namespace)
	switch {
	case isGlobal(kind) || namespace == "":
	case ok:
		p.in.Organization = organization
	case namespace == v1alpha1.SystemNamespace && kind == "Provisioner":
		p.in.Organization = c.organization // it is told beside the organization's own
	default:
		p.nowhere = true
	}
	return p
}

// question is what the caller wants to list or watch.
type question struct {
	place

	kind, namespace, name, labels string
}

// wants says whether an object is one that was asked for; the server's answer may hold more.
func (q question) wants(o *rest.Object) bool {
	return (q.namespace == "" || namespaceOf(o) == q.namespace) && (q.name == "" || o.Name == q.name)
}

func (c *restClient) question(list client.ObjectList, options []client.ListOption) (question, error) {
	kind, err := c.listKind(list)
	if err != nil {
		return question{}, err
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	q := question{kind: kind, namespace: o.Namespace, place: c.place(kind, o.Namespace)}
	if isGlobal(kind) {
		q.namespace = ""
	}
	if o.LabelSelector != nil {
		q.labels = o.LabelSelector.String()
	}
	q.name, err = exactly(o.FieldSelector, "metadata.name")
	return q, err
}

// exactly is the value that a selector wants of the one field; no selector wants any.
func exactly(selector fields.Selector, field string) (string, error) {
	if selector == nil || selector.Empty() {
		return "", nil
	}
	value, ok := selector.RequiresExactMatch(field)
	if !ok || len(selector.Requirements()) != 1 {
		return "", refused("selecting by the fields " + selector.String())
	}
	return value, nil
}

// listKind is the kind of a list's items.
func (c *restClient) listKind(list client.ObjectList) (string, error) {
	kind, err := c.kindOf(list)
	if err != nil {
		return "", err
	}
	return kind[:len(kind)-len("List")], nil
}

// answer asks the server. An object that is named is read itself: lists may be a moment behind, and would not have what
// was just made.
func (c *restClient) answer(ctx context.Context, q question) ([]rest.Object, error) {
	switch {
	case q.nowhere:
		return nil, nil
	case q.name == "" || q.in.Organization == "" && !isGlobal(q.kind):
		all, err := c.api.AllObjects(ctx, q.in, kqueen.ObjectQuery{LabelSelector: q.labels, Name: q.name})
		if err != nil {
			return nil, err
		}
		return all.Items, nil
	}
	found, err := c.api.GetObject(ctx, q.in, q.name)
	if err == nil {
		return []rest.Object{*found}, nil
	}
	if apierrors.IsNotFound(explain(err, q.kind, q.name)) {
		// Only a list tells whether there is nothing or the caller may not look.
		_, err = c.api.ListObjects(ctx, q.in, kqueen.ObjectQuery{Paging: kqueen.Paging{Limit: 1}, Name: q.name})
	}
	return nil, err
}

// empty returns an object of a kind.
func (c *restClient) empty(kind string) (client.Object, error) {
	made, err := c.scheme.New(v1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		return nil, fmt.Errorf("make a %s: %w", kind, err)
	}
	o, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("make a %s: it is a %T", kind, made)
	}
	return o, nil
}

func notFound(kind, name string) error {
	err := apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: kind}, name)
	err.ErrStatus.Code = http.StatusNotFound
	return err
}
