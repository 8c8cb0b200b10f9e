package objects

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// toRest is an object of the admin plane as callers see it.
func toRest(k kind, o client.Object) (rest.Object, error) {
	spec, status, err := partsOf(o)
	if err != nil {
		return rest.Object{}, fmt.Errorf("encode %s %s: %w", k.Name, o.GetName(), err)
	}
	made := rest.Object{
		Kind: k.Name, Name: o.GetName(), UID: string(o.GetUID()), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		CreatedAt: o.GetCreationTimestamp().UTC(), DeletionRequestedAt: timeOf(o.GetDeletionTimestamp()),
		Generation: o.GetGeneration(), Revision: o.GetResourceVersion(), Spec: spec, Status: status,
	}
	if k.InOrganization() {
		// What all organizations share is in none.
		made.Organization, _ = v1alpha1.OrganizationOf(o.GetNamespace())
		if o.GetNamespace() == v1alpha1.SystemNamespace {
			made.Organization = ""
		}
	}
	return made, nil
}

// partsOf are the spec and the status of an object in JSON; nil for one that is not there. The rest of it, of which the
// API server's notes about who set which field are the larger part, is not encoded.
func partsOf(o client.Object) (spec, status json.RawMessage, err error) {
	part := func(name string) any {
		if u, ok := o.(*unstructured.Unstructured); ok {
			return u.Object[strings.ToLower(name)]
		}
		if field := reflect.ValueOf(o).Elem().FieldByName(name); field.IsValid() {
			return field.Addr().Interface()
		}
		return nil
	}
	for name, into := range map[string]*json.RawMessage{"Spec": &spec, "Status": &status} {
		value := part(name)
		if value == nil {
			continue
		}
		if *into, err = json.Marshal(value); err != nil {
			return nil, nil, err
		}
	}
	return spec, status, nil
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// apply puts what a caller says into an object of the admin plane. Of everything else, such as finalizers, owners and
// the status, a caller says nothing.
func apply(in rest.Input, to *unstructured.Unstructured) error {
	to.SetLabels(in.Labels)
	to.SetAnnotations(in.Annotations)
	delete(to.Object, "spec")
	if len(in.Spec) == 0 {
		return nil
	}
	var spec map[string]any
	if err := json.Unmarshal(in.Spec, &spec); err != nil {
		return fmt.Errorf("read the spec: %w", err)
	}
	to.Object["spec"] = spec
	return nil
}

// inputOf is the part of an object that a caller may change.
func inputOf(o *unstructured.Unstructured) (rest.Input, error) {
	in := rest.Input{Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
	spec, ok := o.Object["spec"]
	if !ok {
		return in, nil
	}
	var err error
	if in.Spec, err = json.Marshal(spec); err != nil {
		return in, fmt.Errorf("encode the spec: %w", err)
	}
	return in, nil
}
