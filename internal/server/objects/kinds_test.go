package objects

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kqueen.io/kqueen/api/crds"
)

// TestKinds compares the table of kinds with what the admin plane is told of them.
func TestKinds(t *testing.T) {
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range all {
		defined[crd.Spec.Names.Kind] = crd
	}
	for _, k := range kinds() {
		crd := defined[k.Name]
		if crd == nil {
			t.Errorf("%s has no definition", k.Name)
			continue
		}
		namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		if crd.Spec.Names.Plural != k.Plural || namespaced != k.InOrganization() || k.object == nil || k.list == nil {
			t.Errorf("%+v is defined as %s, %s", k.Kind, crd.Spec.Names.Plural, crd.Spec.Scope)
		}
	}
}
