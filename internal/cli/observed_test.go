//go:build linux

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// observed is what scripts are told of clusters: in every organization that is asked about there are shop, which is live, and edge,
// which is not. What runs there was written by a tenant who means no good.
type observed struct{}

// hostile is a text of a tenant's that moves the cursor and would be a formula.
const hostile = "=1+1\x1b[2J\n"

var digest = "sha256:" + strings.Repeat("0a", 32)

func (observed) states(f inventory.Filter) []inventory.ClusterState {
	organizations := f.Scope.Organizations
	if f.Scope.All {
		organizations = []string{"everywhere"}
	}
	var all []inventory.ClusterState
	for _, o := range organizations {
		for _, s := range []inventory.ClusterState{
			{Cluster: inventory.Cluster{Name: "edge"}, AsOf: time.Now().Add(-3 * time.Hour), Message: "dial tcp: timeout" + hostile},
			{Cluster: inventory.Cluster{Name: "shop", Labels: map[string]string{"env": "prod"}}, AsOf: time.Now(), Live: true},
		} {
			s.Organization, s.UID, s.Since = o, o+"-"+s.Name, time.Now().Add(-50*time.Hour)
			if len(f.Clusters) == 0 || slices.Contains(f.Clusters, s.Name) {
				all = append(all, s)
			}
		}
	}
	return all
}

// observe answers with a row for each cluster.
func observe[T any](f inventory.Filter, row func(inventory.Place) T) (inventory.Page[T], error) {
	page := inventory.Page[T]{AsOf: observed{}.states(f)}
	for _, s := range page.AsOf {
		page.Rows = append(page.Rows, row(inventory.Place{Organization: s.Organization, Cluster: s.Name, ClusterUID: s.UID, Since: s.Since}))
	}
	return page, nil
}

func nginx() inventory.Image {
	return inventory.Image{Reference: "docker.io/library/nginx:1.27", Repository: "docker.io/library/nginx", Tag: "1.27", Digest: digest}
}

// takes says whether a filter takes that image.
func takes(f inventory.Filter) bool {
	return (f.Repository == "" || f.Repository == nginx().Repository) && (f.Tag == "" || f.Tag == "1.27") && (len(f.Digests) == 0 || slices.Contains(f.Digests, digest))
}

// Images implements fleet.Rows.
func (observed) Images(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ImageRow], error) {
	first := time.Now().Add(-50 * time.Hour)
	return inventory.Page[inventory.ImageRow]{AsOf: observed{}.states(f), Rows: []inventory.ImageRow{
		{Image: nginx(), Clusters: 2, Containers: 2, First: first},
		{Image: inventory.Image{Reference: hostile, Repository: hostile}, Clusters: 1, Containers: 1, First: first},
	}}, nil
}

// Containers implements fleet.Rows.
func (observed) Containers(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ContainerRow], error) {
	if !takes(f) {
		return inventory.Page[inventory.ContainerRow]{AsOf: observed{}.states(f)}, nil
	}
	return observe(f, func(p inventory.Place) inventory.ContainerRow {
		return inventory.ContainerRow{
			Place: p, Key: inventory.Key{Namespace: "default", Name: "web-1", Part: "web"},
			Container: inventory.Container{Type: inventory.TypeApp, Image: nginx(), WorkloadKind: "Deployment", WorkloadName: "web", Node: "n1", Phase: "Running"},
		}
	})
}

// Binaries implements fleet.Rows.
func (observed) Binaries(_ context.Context, f inventory.Filter) (inventory.Page[inventory.BinaryRow], error) {
	return inventory.Page[inventory.BinaryRow]{AsOf: observed{}.states(f), Rows: []inventory.BinaryRow{
		{Component: "etcd", Managed: true, Clusters: 1}, {Component: "kubelet", Version: "v1.36.3", Clusters: 2, Nodes: 5, First: time.Now().Add(-50 * time.Hour)},
	}}, nil
}

// BinaryPlaces implements fleet.Rows.
func (observed) BinaryPlaces(_ context.Context, f inventory.Filter) (inventory.Page[inventory.ItemRow], error) {
	return observe(f, func(p inventory.Place) inventory.ItemRow {
		return inventory.ItemRow{Place: p, Item: inventory.Item{Key: inventory.Key{Name: "n1", Part: "kubelet"}, Component: &inventory.Component{Version: "v1.36.3"}}}
	})
}

// Items implements fleet.Rows.
func (observed) Items(_ context.Context, kind inventory.Kind, f inventory.Filter) (inventory.Page[inventory.ItemRow], error) {
	return observe(f, func(p inventory.Place) inventory.ItemRow {
		switch kind {
		case inventory.KindNode:
			return inventory.ItemRow{Place: p, Item: inventory.Item{Key: inventory.Key{Name: "n1"}, Node: &inventory.Node{
				KubeletVersion: "v1.36.3", Runtime: "containerd://2.4.2", OS: "Debian", Kernel: "6.18", Architecture: "amd64", Ready: "True", Unschedulable: true,
				Capacity: inventory.Resources{CPU: 2500, Memory: 1 << 30, Pods: 110},
			}}}
		case inventory.KindWorkload:
			return inventory.ItemRow{Place: p, Item: inventory.Item{
				Key: inventory.Key{Namespace: "default", Name: "web", Part: "Deployment"}, Workload: &inventory.Workload{Desired: 3, Ready: 2},
			}}
		}
		return inventory.ItemRow{Place: p, Item: inventory.Item{
			Key: inventory.Key{Namespace: "default", Name: "web-tls", Part: "Secret"}, Certificate: &inventory.Certificate{NotAfter: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)},
		}}
	})
}

// ImagesBetween implements fleet.Comparisons.
func (observed) ImagesBetween(_ context.Context, f inventory.Filter, _, _ time.Time) (inventory.Page[inventory.Change[inventory.ImageRow]], error) {
	return inventory.Page[inventory.Change[inventory.ImageRow]]{AsOf: observed{}.states(f), Rows: []inventory.Change[inventory.ImageRow]{
		{Row: inventory.ImageRow{Image: nginx(), Clusters: 1, Containers: 1}}, {Appeared: true, Row: inventory.ImageRow{Image: nginx(), Clusters: 1, Containers: 2}},
	}}, nil
}

// BinariesBetween implements fleet.Comparisons.
func (observed) BinariesBetween(_ context.Context, f inventory.Filter, _, _ time.Time) (inventory.Page[inventory.Change[inventory.BinaryRow]], error) {
	return inventory.Page[inventory.Change[inventory.BinaryRow]]{AsOf: observed{}.states(f), Rows: []inventory.Change[inventory.BinaryRow]{
		{Appeared: true, Row: inventory.BinaryRow{Component: "kubelet", Version: "v1.36.3", Clusters: 1, Nodes: 1}},
	}}, nil
}

// Clusters implements fleet.Comparisons.
func (observed) Clusters(_ context.Context, f inventory.Filter) ([]inventory.ClusterState, error) {
	return observed{}.states(f), nil
}

// Findings implements fleet.Comparisons.
func (observed) Findings(_ context.Context, f inventory.Filter) (inventory.Page[inventory.Finding], error) {
	return observe(f, func(p inventory.Place) inventory.Finding {
		return inventory.Finding{
			Rule: "VersionSkew", Severity: inventory.Warn, Place: p, Subject: inventory.Key{Kind: inventory.KindComponent, Name: "n1", Part: "kubelet"}, Reason: "v1.33.1 is too old for v1.36.3", Remedy: "upgrade it",
		}
	})
}
