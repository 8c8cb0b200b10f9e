package objects

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestReach(t *testing.T) {
	at := func(namespace string) client.Object {
		return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	}
	for name, tc := range map[string]struct {
		reach
		namespace string
		want      bool
	}{
		"Own":              {reach{namespaces: []string{"org-blue", "org-red"}}, "org-red", true},
		"Foreign":          {reach{namespaces: []string{"org-blue", "org-red"}}, "org-green", false},
		"None":             {reach{}, "org-blue", false},
		"All":              {reach{all: true}, "org-blue", true},
		"AllButNobodys":    {reach{all: true, shared: true}, "default", false},
		"AllShared":        {reach{all: true, shared: true}, v1alpha1.SystemNamespace, true},
		"AllOfNotShared":   {reach{all: true}, v1alpha1.SystemNamespace, false},
		"MemberNotAsNamed": {reach{namespaces: []string{"org-blue"}, shared: true}, v1alpha1.SystemNamespace, false},
	} {
		if got := tc.sees(at(tc.namespace)); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
