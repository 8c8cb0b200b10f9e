package objects

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// parts are what an object says beside its metadata.
type parts struct {
	Spec   json.RawMessage `json:"spec,omitempty"`
	Status json.RawMessage `json:"status,omitempty"`
}

// fill makes to what from says; nothing of what it was stays. It does not trust the server to answer with the kind that
// was asked for: what tables and pages show would be read from a wrong type.
func fill(from *rest.Object, to client.Object) error {
	if kind := kindOf(to); from.Kind != kind {
		return fmt.Errorf("the server answers with a %q in place of a %s", from.Kind, kind)
	}
	data, err := json.Marshal(parts{from.Spec, from.Status})
	if err != nil {
		return fmt.Errorf("read %s %s: %w", from.Kind, from.Name, err)
	}
	reflect.ValueOf(to).Elem().SetZero()
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("read %s %s: %w", from.Kind, from.Name, err)
	}
	to.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(from.Kind))
	to.SetName(from.Name)
	to.SetNamespace(namespaceOf(from))
	to.SetUID(types.UID(from.UID))
	to.SetLabels(from.Labels)
	to.SetAnnotations(from.Annotations)
	to.SetCreationTimestamp(metav1.NewTime(from.CreatedAt.Local())) // as the API server's are read
	if from.DeletionRequestedAt != nil {
		at := metav1.NewTime(from.DeletionRequestedAt.Local())
		to.SetDeletionTimestamp(&at)
	}
	to.SetGeneration(from.Generation)
	to.SetResourceVersion(from.Revision)
	return nil
}

// kindOf is the kind of an object: types have the names of their kinds.
func kindOf(o client.Object) string { return reflect.TypeOf(o).Elem().Name() }

// inputOf is what a caller may say of an object.
func inputOf(o client.Object) (rest.Input, error) {
	in := rest.Input{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
	data, err := json.Marshal(o)
	if err != nil {
		return in, fmt.Errorf("write %s: %w", o.GetName(), err)
	}
	var p parts
	if err := json.Unmarshal(data, &p); err != nil {
		return in, fmt.Errorf("write %s: %w", o.GetName(), err)
	}
	in.Spec = p.Spec
	return in, nil
}

// namespaceOf is where users see an object. What belongs to no organization but could is shared by all.
func namespaceOf(o *rest.Object) string {
	switch {
	case !inOrganization(o.Kind):
		return ""
	case o.Organization == "":
		return v1alpha1.SystemNamespace
	}
	return v1alpha1.NamespacePrefix + o.Organization
}

// organizationOf is the organization that a namespace is of; false for others.
func organizationOf(namespace string) (string, bool) {
	name, ok := v1alpha1.OrganizationOf(namespace)
	return name, ok && name != ""
}
