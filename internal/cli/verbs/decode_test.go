package verbs

import (
	"bytes"
	"testing"

	"kqueen.io/kqueen/internal/cli/kinds"
)

func FuzzDecodeObjects(f *testing.F) {
	f.Add([]byte("apiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {version: v1.36.3}\n---\n# none\n"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: kqueen.io/v1alpha1, kind: Cluster}]\n"))
	f.Add([]byte("apiVersion: kqueen.io/v1alpha1\nkind: NodePool\nspec: {clusterName: a, health: {maxUnhealthy: 40%}}\nstatus: {replicas: 1}\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, n := range []*kinds.Kind{kinds.Cluster, kinds.NodePool} {
			objects, err := decodeObjects(n, "f", bytes.NewReader(data))
			if err == nil && len(objects) == 0 {
				t.Error("neither objects nor an error")
			}
			for _, object := range objects {
				if object == nil || object.GetUID() != "" {
					t.Errorf("%v cannot be made", object)
				}
			}
		}
	})
}
