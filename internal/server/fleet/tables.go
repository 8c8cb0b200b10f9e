package fleet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// The columns of CSV have the names of the fields of JSON.

// ofPlace begins rows of what is in one place, and endOfPlace ends them.
var (
	ofPlace    = []string{"organization", "cluster", "clusterUID"}
	endOfPlace = []string{"since", "until", "asOf", "live"}
)

// inPlace are columns between those of a place.
func inPlace(columns ...string) []string { return slices.Concat(ofPlace, columns, endOfPlace) }

func placed(p rest.InventoryPlace, cells ...string) []string {
	return slices.Concat([]string{p.Organization, p.Cluster, p.ClusterUID}, cells, []string{when(p.Since), when(p.Until), when(p.AsOf), strconv.FormatBool(p.Live)})
}

func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// pairs are labels in one cell.
func pairs(labels map[string]string) string {
	all := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ";")
}

func number[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

var imageTable = table[rest.InventoryImage]{
	header: []string{"reference", "repository", "tag", "digest", "clusters", "containers", "firstSeenAt", "lastSeenAt", "change"},
	cells: func(i rest.InventoryImage) []string {
		return []string{
			i.Reference, i.Repository, i.Tag, i.Digest, number(i.Clusters), number(i.Containers), when(i.FirstSeenAt), when(i.LastSeenAt), string(i.Change),
		}
	},
}

var containerTable = table[rest.InventoryContainer]{
	header: inPlace("namespace", "pod", "container", "type", "static", "reference", "repository", "tag", "digest", "workloadKind", "workloadName", "node", "phase", "reason"),
	cells: func(c rest.InventoryContainer) []string {
		return placed(c.InventoryPlace, c.Namespace, c.Pod, c.Container, c.Type, strconv.FormatBool(c.Static), c.Image.Reference, c.Image.Repository,
			c.Image.Tag, c.Image.Digest, c.WorkloadKind, c.WorkloadName, c.Node, c.Phase, c.Reason)
	},
}

var binaryTable = table[rest.InventoryBinary]{
	header: []string{"component", "version", "managed", "clusters", "nodes", "firstSeenAt", "lastSeenAt", "change"},
	cells: func(b rest.InventoryBinary) []string {
		return []string{
			b.Component, b.Version, strconv.FormatBool(b.Managed), number(b.Clusters), number(b.Nodes), when(b.FirstSeenAt), when(b.LastSeenAt), string(b.Change),
		}
	},
}

var binaryPlaceTable = table[rest.InventoryBinary]{
	header: inPlace("component", "version", "managed", "node", "image"),
	cells: func(b rest.InventoryBinary) []string {
		return placed(*b.Place, b.Component, b.Version, strconv.FormatBool(b.Managed), b.Node, b.Image)
	},
}

var nodeTable = table[rest.InventoryNode]{
	header: inPlace("node", "kubeletVersion", "kubeProxyVersion", "runtime", "kernel", "os", "architecture", "ready", "message", "unschedulable", "pressure",
		"labels", "capacityMilliCPU", "capacityMemory", "capacityPods", "allocatableMilliCPU", "allocatableMemory", "allocatablePods"),
	cells: func(n rest.InventoryNode) []string {
		return placed(n.InventoryPlace, n.Node, n.KubeletVersion, n.KubeProxyVersion, n.Runtime, n.Kernel, n.OS, n.Architecture, n.Ready, n.Message,
			strconv.FormatBool(n.Unschedulable), strings.Join(n.Pressure, ";"), pairs(n.Labels),
			number(n.Capacity.MilliCPU), number(n.Capacity.Memory), number(n.Capacity.Pods),
			number(n.Allocatable.MilliCPU), number(n.Allocatable.Memory), number(n.Allocatable.Pods))
	},
}

var workloadTable = table[rest.InventoryWorkload]{
	header: inPlace("namespace", "kind", "name", "desired", "ready", "labels"),
	cells: func(w rest.InventoryWorkload) []string {
		return placed(w.InventoryPlace, w.Namespace, w.Kind, w.Name, number(w.Desired), number(w.Ready), pairs(w.Labels))
	},
}

var certificateTable = table[rest.InventoryCertificate]{
	header: inPlace("source", "namespace", "name", "subject", "issuer", "dnsNames", "expiresAt"),
	cells: func(c rest.InventoryCertificate) []string {
		return placed(c.InventoryPlace, c.Source, c.Namespace, c.Name, c.Subject, c.Issuer, strings.Join(c.DNSNames, ";"), when(c.ExpiresAt))
	},
}

var findingTable = table[rest.InventoryFinding]{
	header: inPlace("severity", "rule", "kind", "namespace", "name", "part", "reason", "remedy"),
	cells: func(f rest.InventoryFinding) []string {
		return placed(f.InventoryPlace, f.Severity, f.Rule, f.Kind, f.Namespace, f.Name, f.Part, f.Reason, f.Remedy)
	},
}

var clusterTable = table[rest.InventoryCluster]{
	header: []string{"organization", "cluster", "uid", "labels", "firstSeenAt", "asOf", "live", "message", "endedAt"},
	cells: func(c rest.InventoryCluster) []string {
		return []string{
			c.Organization, c.Cluster, c.UID, pairs(c.Labels), when(c.FirstSeenAt), when(c.AsOf), strconv.FormatBool(c.Live), c.Message, when(c.EndedAt),
		}
	},
}
