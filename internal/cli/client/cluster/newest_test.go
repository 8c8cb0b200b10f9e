package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// TestPoolsInWords wants singular and plural where they belong.
func TestPoolsInWords(t *testing.T) {
	pool := func(name string, count int32) *v1alpha1.NodePool {
		p := kinds.NewNodePool()
		p.Name, p.Status.Replicas = name, count
		return p
	}
	for want, pools := range map[string][]*v1alpha1.NodePool{
		"nodepool a with 1 node":            {pool("a", 1)},
		"nodepools a, b and c with 2 nodes": {pool("a", 0), pool("b", 2), pool("c", 0)},
		"nodepools a and b with 0 nodes":    {pool("a", 0), pool("b", 0)},
	} {
		if got := poolsInWords(pools); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNewestReady(t *testing.T) {
	release := func(name string, status metav1.ConditionStatus) client.Object {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status}}
		return r
	}
	going := release("v1.36.11", metav1.ConditionTrue)
	going.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	cases := map[string]struct {
		releases []client.Object
		want     string
	}{
		"none":                   {nil, ""},
		"none is ready":          {[]client.Object{release("v1.36.3", metav1.ConditionFalse), &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "v1.37.0"}}}, ""},
		"compared as versions":   {[]client.Object{release("v1.36.9", metav1.ConditionTrue), release("v1.36.10", metav1.ConditionTrue), release("v1.4.0", metav1.ConditionTrue)}, "v1.36.10"},
		"not one that is going":  {[]client.Object{going, release("v1.36.3", metav1.ConditionTrue)}, "v1.36.3"},
		"not what is no version": {[]client.Object{release("vx", metav1.ConditionTrue)}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := newestReady(c.releases); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
