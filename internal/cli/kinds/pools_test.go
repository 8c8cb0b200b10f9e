package kinds

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kqueen.io/kqueen/api/crds"
)

// TestPoolDefaults wants a new pool to be what the server makes of one that says nothing but its cluster.
func TestPoolDefaults(t *testing.T) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	for _, definition := range definitions {
		if definition.Spec.Names.Kind == NodePool.Kind {
			want = defaultsOf(t, definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	pool := NewNodePool()
	pool.Spec.ClusterName = "demo"
	data, err := json.Marshal(pool.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want["clusterName"] = "demo"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-definition +new pool):\n%s", diff)
	}
}

// defaultsOf returns what the server fills into an object that is empty.
func defaultsOf(t *testing.T, schema apiextensionsv1.JSONSchemaProps) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name, property := range schema.Properties {
		if property.Default == nil {
			continue
		}
		var value any
		if err := json.Unmarshal(property.Default.Raw, &value); err != nil {
			t.Fatal(err)
		}
		if object, ok := value.(map[string]any); ok {
			maps.Copy(object, defaultsOf(t, property))
		}
		all[name] = value
	}
	return all
}
