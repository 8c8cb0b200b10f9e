package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestFilter: a filter takes what it says, exactly, and nothing of a kind that it means nothing for.
func TestFilter(t *testing.T) {
	cluster := func(name, provisioner, asked, runs string) client.Object {
		return &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
			Spec:       v1alpha1.ClusterSpec{ProvisionerRef: v1alpha1.ProvisionerReference{Name: provisioner}, Version: asked},
			Status:     v1alpha1.ClusterStatus{Version: runs},
		}
	}
	all := []client.Object{
		cluster("runs", "hosted", "v1.36.3", "v1.36.3"), cluster("rises", "hosted", "v1.36.3", "v1.35.4"), cluster("begins", "hosted", "v1.36.3", ""),
		cluster("adopted", "imported", "", "v1.35.4"), cluster("silent", "imported", "", ""),
		&v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}, Spec: v1alpha1.NodePoolSpec{ClusterName: "runs"}},
	}
	for name, tc := range map[string]struct {
		filter Filter
		want   []string
	}{
		"None":          {Filter{}, []string{"runs", "rises", "begins", "adopted", "silent", "pool"}},
		"Provisioner":   {Filter{Provisioner: "imported"}, []string{"adopted", "silent"}},
		"PartOfName":    {Filter{Provisioner: "host"}, nil},
		"Version":       {Filter{Version: "v1.36.3"}, []string{"runs", "begins"}},
		"WhatRuns":      {Filter{Version: "v1.35.4"}, []string{"rises", "adopted"}},
		"PartOfVersion": {Filter{Version: "v1.3"}, nil},
		"Both":          {Filter{Provisioner: "hosted", Version: "v1.35.4"}, []string{"rises"}},
		"Cluster":       {Filter{Cluster: "runs"}, []string{"runs", "pool"}},
		"Name":          {Filter{Name: "ri"}, []string{"rises"}},
		"Selector":      {Filter{Selector: "name!=runs", Version: "v1.36.3"}, []string{"begins"}},
		"Ready":         {Filter{Ready: "unknown", Provisioner: "imported"}, []string{"adopted", "silent"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := tc.filter.matcher()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range all {
				if wanted(o) {
					got = append(got, o.GetName())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestScope: a cursor is good for one filter.
func TestScope(t *testing.T) {
	known := map[string]string{}
	for name, q := range map[string]Query{
		"nothing": {}, "selector": {Filter: Filter{Selector: "x"}}, "name": {Filter: Filter{Name: "x"}}, "cluster": {Filter: Filter{Cluster: "x"}},
		"provisioner": {Filter: Filter{Provisioner: "x"}}, "version": {Filter: Filter{Version: "x"}}, "ready": {Filter: Filter{Ready: "x"}}, "sort": {Sort: "x"},
	} {
		scope := q.scope("alice", "clusters/")
		if other, ok := known[scope]; ok {
			t.Errorf("cursors of %s and %s are the same", name, other)
		}
		known[scope] = name
	}
}
