package fleet

import (
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
)

// places are the clusters of an answer by their UID.
type places map[string]inventory.ClusterState

func placesOf(states []inventory.ClusterState) places {
	known := make(places, len(states))
	for _, s := range states {
		known[s.UID] = s
	}
	return known
}

// instant is a time as it is sent; nil for the zero time, which is none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func (known places) of(p inventory.Place) rest.InventoryPlace {
	state := known[p.ClusterUID]
	return rest.InventoryPlace{
		Organization: p.Organization, Cluster: p.Cluster, ClusterUID: p.ClusterUID, Since: instant(p.Since), Until: instant(p.Until),
		AsOf: instant(state.AsOf), Live: state.Live,
	}
}

func toCluster(s inventory.ClusterState) rest.InventoryCluster {
	return rest.InventoryCluster{
		Organization: s.Organization, Cluster: s.Name, UID: s.UID, Labels: s.Labels, FirstSeenAt: instant(s.Since), AsOf: instant(s.AsOf),
		Live: s.Live, Message: s.Message, EndedAt: instant(s.Ended),
	}
}

func toClusterRow(s inventory.ClusterState, _ places) rest.InventoryCluster { return toCluster(s) }

func toName(i inventory.Image) rest.InventoryImageName {
	return rest.InventoryImageName{Reference: i.Reference, Repository: i.Repository, Tag: i.Tag, Digest: i.Digest}
}

func toImage(r inventory.ImageRow, _ places) rest.InventoryImage {
	return rest.InventoryImage{
		InventoryImageName: toName(r.Image), Clusters: r.Clusters, Containers: r.Containers, FirstSeenAt: instant(r.First), LastSeenAt: instant(r.Last),
	}
}

func toChange(appeared bool) rest.InventoryChange {
	if appeared {
		return rest.InventoryAppeared
	}
	return rest.InventoryVanished
}

func toImageChange(c inventory.Change[inventory.ImageRow], known places) rest.InventoryImage {
	row := toImage(c.Row, known)
	row.Change = toChange(c.Appeared)
	return row
}

func toContainer(r inventory.ContainerRow, known places) rest.InventoryContainer {
	c := r.Container
	return rest.InventoryContainer{
		InventoryPlace: known.of(r.Place), Namespace: r.Key.Namespace, Pod: r.Key.Name, Container: r.Key.Part,
		Type: string(c.Type), Static: c.Static, Image: toName(c.Image), WorkloadKind: c.WorkloadKind, WorkloadName: c.WorkloadName,
		Node: c.Node, Phase: c.Phase, Reason: c.Reason,
	}
}

func toBinary(r inventory.BinaryRow, _ places) rest.InventoryBinary {
	return rest.InventoryBinary{
		Component: r.Component, Version: r.Version, Managed: r.Managed, Clusters: r.Clusters, Nodes: r.Nodes,
		FirstSeenAt: instant(r.First), LastSeenAt: instant(r.Last),
	}
}

func toBinaryChange(c inventory.Change[inventory.BinaryRow], known places) rest.InventoryBinary {
	row := toBinary(c.Row, known)
	row.Change = toChange(c.Appeared)
	return row
}

func toBinaryPlace(r inventory.ItemRow, known places) rest.InventoryBinary {
	place := known.of(r.Place)
	row := rest.InventoryBinary{Component: r.Item.Key.Part, Node: r.Item.Key.Name, Place: &place}
	if c := r.Item.Component; c != nil {
		row.Version, row.Managed, row.Image = c.Version, c.Managed, c.Image
	}
	return row
}

func toNode(r inventory.ItemRow, known places) rest.InventoryNode {
	row := rest.InventoryNode{InventoryPlace: known.of(r.Place), Node: r.Item.Key.Name}
	if n := r.Item.Node; n != nil {
		row.KubeletVersion, row.KubeProxyVersion, row.Runtime, row.Kernel, row.OS = n.KubeletVersion, n.KubeProxyVersion, n.Runtime, n.Kernel, n.OS
		row.Architecture, row.Ready, row.Message, row.Unschedulable, row.Pressure = n.Architecture, n.Ready, n.Message, n.Unschedulable, n.Pressure
		row.Labels, row.Capacity, row.Allocatable = n.Labels, toAmounts(n.Capacity), toAmounts(n.Allocatable)
	}
	return row
}

func toAmounts(r inventory.Resources) rest.InventoryAmounts {
	return rest.InventoryAmounts{MilliCPU: r.CPU, Memory: r.Memory, Pods: r.Pods}
}

func toWorkload(r inventory.ItemRow, known places) rest.InventoryWorkload {
	row := rest.InventoryWorkload{InventoryPlace: known.of(r.Place), Namespace: r.Item.Key.Namespace, Kind: r.Item.Key.Part, Name: r.Item.Key.Name}
	if w := r.Item.Workload; w != nil {
		row.Desired, row.Ready, row.Labels = w.Desired, w.Ready, w.Labels
	}
	return row
}

func toCertificate(r inventory.ItemRow, known places) rest.InventoryCertificate {
	row := rest.InventoryCertificate{
		InventoryPlace: known.of(r.Place), Source: r.Item.Key.Part, Namespace: r.Item.Key.Namespace, Name: r.Item.Key.Name,
	}
	if c := r.Item.Certificate; c != nil {
		row.Subject, row.Issuer, row.DNSNames, row.ExpiresAt = c.Subject, c.Issuer, c.DNSNames, instant(c.NotAfter)
	}
	return row
}

func toFinding(f inventory.Finding, known places) rest.InventoryFinding {
	kind := f.SubjectKind
	if kind == "" {
		kind = string(f.Subject.Kind)
	}
	return rest.InventoryFinding{
		InventoryPlace: known.of(f.Place), Rule: string(f.Rule), Severity: string(f.Severity), Kind: kind, Namespace: f.Subject.Namespace,
		Name: f.Subject.Name, Part: f.Subject.Part, Reason: f.Reason, Remedy: f.Remedy,
	}
}
