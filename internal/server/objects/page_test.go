package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestPaging: one page after the other is everything, once and in order, however large pages are and in whatever order
// the cache has the objects.
func TestPaging(t *testing.T) {
	var all []client.Object
	for n := range 300 {
		all = append(all, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: []string{"org-a", "org-b"}[n%2], Name: fmt.Sprintf("c-%03d", n/2), CreationTimestamp: metav1.Unix(int64(n/50), 0),
		}})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, sort := range []string{"name", "-name", "createdAt", "-createdAt"} {
		want := slices.SortedFunc(slices.Values(all), func(a, b client.Object) int { return placeOf(a, sort).compare(placeOf(b, sort)) })
		if sort[0] == '-' {
			slices.Reverse(want)
		}
		for _, limit := range []int{1, 7, 50, 149, 150, 299, 300, 500} {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var got []client.Object
			for after := (*place)(nil); ; {
				page, last := pageOf(all, Query{Limit: limit, Sort: sort}, after)
				got = append(got, page...)
				if after = last; last == nil {
					break
				}
				if len(page) != limit {
					t.Fatalf("sorted by %s, a page of %d has %d objects, and more follow", sort, limit, len(page))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("sorted by %s, pages of %d are not what is there in order", sort, limit)
			}
		}
	}
}

// TestParts: a typed object and the same one without a type have the same parts.
func TestParts(t *testing.T) {
	c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}, Status: v1alpha1.ClusterStatus{Version: "v1.36.2"}}
	c.CreationTimestamp = metav1.NewTime(time.Unix(0, 0))
	spec, status, err := partsOf(c)
	if err != nil || string(spec) == "" {
		t.Fatal(err)
	}
	loose := &unstructured.Unstructured{}
	if loose.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(c); err != nil {
		t.Fatal(err)
	}
	looseSpec, looseStatus, err := partsOf(loose)
	if err != nil || !sameJSON(t, spec, looseSpec) || !sameJSON(t, status, looseStatus) {
		t.Errorf("%s %s, and without a type %s %s (%v)", spec, status, looseSpec, looseStatus, err)
	}
	delete(loose.Object, "status")
	if _, status, err := partsOf(loose); status != nil || err != nil {
		t.Errorf("what has no status has %s (%v)", status, err)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}
