package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// asOf is how current a row is.
func asOf(p rest.InventoryPlace) string {
	if p.Live {
		return "now"
	}
	return ago(p.AsOf)
}

func ago(t *time.Time) string {
	if t == nil {
		return ""
	}
	return console.Elapsed(t) + " ago"
}

// short is a digest as far as one tells it from others by eye.
func short(digest string) string {
	algorithm, value, ok := strings.Cut(digest, ":")
	if !ok || len(value) <= 12 {
		return digest
	}
	return algorithm + ":" + value[:12]
}

func labels(of map[string]string) string {
	all := make([]string, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, key+"="+of[key])
	}
	return strings.Join(all, ",")
}

// within is a place in a cluster: NAMESPACE/NAME, or the name alone.
func within(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

func images() list[rest.InventoryImage] {
	return list[rest.InventoryImage]{
		operation: "listInventoryImages", what: "images",
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryImage], error) {
			return d.ListInventoryImages(ctx, f)
		},
		columns: []string{"IMAGE", "DIGEST", "CLUSTERS", "CONTAINERS", "AGE"}, wide: []string{"LAST SEEN", "FULL DIGEST"},
		row: func(i rest.InventoryImage) (cells, wide []string) {
			return []string{i.Reference, short(i.Digest), strconv.Itoa(i.Clusters), strconv.Itoa(i.Containers), console.Elapsed(i.FirstSeenAt)},
				[]string{ago(i.LastSeenAt), i.Digest}
		},
	}
}

// changed puts the change before the other columns.
func changed[T any](l list[T], change func(T) rest.InventoryChange) list[T] {
	row := l.row
	l.columns = append([]string{"CHANGE"}, l.columns...)
	l.row = func(item T) (cells, wide []string) {
		cells, wide = row(item)
		return append([]string{string(change(item))}, cells...), wide
	}
	return l
}

func containers(search *rest.InventorySearch) list[rest.InventoryContainer] {
	l := list[rest.InventoryContainer]{
		operation: "listInventoryContainers", what: "containers", search: search, placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryContainer], error) {
			return d.ListInventoryContainers(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "NAMESPACE", "POD", "CONTAINER", "IMAGE", "STATUS", "AGE", "AS OF"},
		wide:    []string{"TYPE", "WORKLOAD", "NODE", "DIGEST"},
		row: func(c rest.InventoryContainer) (cells, wide []string) {
			status := c.Reason
			if status == "" {
				status = c.Phase
			}
			kind := c.Type
			if c.Static {
				kind += ", static"
			}
			return []string{c.Organization, c.Cluster, c.Namespace, c.Pod, c.Container, c.Image.Reference, status, console.Elapsed(c.Since), asOf(c.InventoryPlace)},
				[]string{kind, strings.TrimSuffix(c.WorkloadKind+"/"+c.WorkloadName, "/"), c.Node, c.Image.Digest}
		},
	}
	if search != nil {
		l.operation = "searchInventoryContainers"
		l.page = func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryContainer], error) {
			return d.SearchInventoryContainers(ctx, f, *search)
		}
	}
	return l
}

func binaries() list[rest.InventoryBinary] {
	return list[rest.InventoryBinary]{
		operation: "listInventoryBinaries", what: "binaries", page: readBinaries,
		columns: []string{"COMPONENT", "VERSION", "CLUSTERS", "NODES", "AGE"}, wide: []string{"LAST SEEN"},
		row: func(b rest.InventoryBinary) (cells, wide []string) {
			nodes := ""
			if b.Nodes > 0 {
				nodes = strconv.Itoa(b.Nodes)
			}
			return []string{b.Component, versionOf(b), strconv.Itoa(b.Clusters), nodes, console.Elapsed(b.FirstSeenAt)}, []string{ago(b.LastSeenAt)}
		},
	}
}

func binaryPlaces() list[rest.InventoryBinary] {
	return list[rest.InventoryBinary]{
		operation: "listInventoryBinaries", what: "binaries", page: readBinaries, placed: true,
		columns: []string{"ORGANIZATION", "CLUSTER", "NODE", "COMPONENT", "VERSION", "AGE", "AS OF"}, wide: []string{"IMAGE"},
		row: func(b rest.InventoryBinary) (cells, wide []string) {
			var p rest.InventoryPlace
			if b.Place != nil {
				p = *b.Place
			}
			return []string{p.Organization, p.Cluster, b.Node, b.Component, versionOf(b), console.Elapsed(p.Since), asOf(p)}, []string{b.Image}
		},
	}
}

func readBinaries(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryBinary], error) {
	return d.ListInventoryBinaries(ctx, f)
}

// versionOf is what is known of a version: that of a managed program is its provider's business.
func versionOf(b rest.InventoryBinary) string {
	if b.Version == "" && b.Managed {
		return "provider-managed"
	}
	return b.Version
}

func nodes() list[rest.InventoryNode] {
	return list[rest.InventoryNode]{
		operation: "listInventoryNodes", what: "nodes", placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryNode], error) {
			return d.ListInventoryNodes(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "NODE", "READY", "KUBELET", "RUNTIME", "AGE", "AS OF"},
		wide:    []string{"OS", "KERNEL", "ARCHITECTURE", "CPU", "MEMORY", "PODS", "CONDITIONS"},
		row: func(n rest.InventoryNode) (cells, wide []string) {
			conditions := slices.Clone(n.Pressure)
			if n.Unschedulable {
				conditions = append(conditions, "SchedulingDisabled")
			}
			if n.Message != "" {
				conditions = append(conditions, n.Message)
			}
			return []string{n.Organization, n.Cluster, n.Node, n.Ready, n.KubeletVersion, n.Runtime, console.Elapsed(n.Since), asOf(n.InventoryPlace)},
				[]string{
					n.OS, n.Kernel, n.Architecture, strconv.FormatFloat(float64(n.Capacity.MilliCPU)/1000, 'g', -1, 64),
					fmt.Sprintf("%dMi", n.Capacity.Memory>>20), strconv.FormatInt(n.Capacity.Pods, 10), strings.Join(conditions, ", "),
				}
		},
	}
}

func workloads() list[rest.InventoryWorkload] {
	return list[rest.InventoryWorkload]{
		operation: "listInventoryWorkloads", what: "workloads", placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryWorkload], error) {
			return d.ListInventoryWorkloads(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "NAMESPACE", "KIND", "NAME", "READY", "AGE", "AS OF"}, wide: []string{"LABELS"},
		row: func(w rest.InventoryWorkload) (cells, wide []string) {
			return []string{
				w.Organization, w.Cluster, w.Namespace, w.Kind, w.Name, fmt.Sprintf("%d/%d", w.Ready, w.Desired), console.Elapsed(w.Since), asOf(w.InventoryPlace),
			}, []string{labels(w.Labels)}
		},
	}
}

func certificates() list[rest.InventoryCertificate] {
	return list[rest.InventoryCertificate]{
		operation: "listInventoryCertificates", what: "certificates", placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryCertificate], error) {
			return d.ListInventoryCertificates(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "SOURCE", "NAME", "EXPIRES", "AS OF"}, wide: []string{"SUBJECT", "ISSUER", "DNS NAMES"},
		row: func(c rest.InventoryCertificate) (cells, wide []string) {
			expires := ""
			if c.ExpiresAt != nil {
				expires = console.When(*c.ExpiresAt)
			}
			return []string{c.Organization, c.Cluster, c.Source, within(c.Namespace, c.Name), expires, asOf(c.InventoryPlace)},
				[]string{c.Subject, c.Issuer, strings.Join(c.DNSNames, ",")}
		},
	}
}

func findings() list[rest.InventoryFinding] {
	return list[rest.InventoryFinding]{
		operation: "listInventoryFindings", what: "findings", placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryFinding], error) {
			return d.ListInventoryFindings(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "SEVERITY", "RULE", "OBJECT", "REASON", "AS OF"}, wide: []string{"AGE", "REMEDY"},
		row: func(f rest.InventoryFinding) (cells, wide []string) {
			object := strings.Trim(f.Kind+" "+within(f.Namespace, f.Name), " ")
			if f.Part != "" {
				object += " " + f.Part
			}
			return []string{f.Organization, f.Cluster, f.Severity, f.Rule, object, f.Reason, asOf(f.InventoryPlace)},
				[]string{console.Elapsed(f.Since), f.Remedy}
		},
	}
}

func clusters() list[rest.InventoryCluster] {
	return list[rest.InventoryCluster]{
		operation: "listInventoryClusters", what: "clusters", placed: true,
		page: func(ctx context.Context, d *connection.API, f client.InventoryFilter) (*rest.InventoryPage[rest.InventoryCluster], error) {
			return d.ListInventoryClusters(ctx, f)
		},
		columns: []string{"ORGANIZATION", "CLUSTER", "LIVE", "AS OF", "AGE", "MESSAGE"}, wide: []string{"UID", "LABELS"},
		row: func(c rest.InventoryCluster) (cells, wide []string) {
			current, live := ago(c.AsOf), console.YesNo(c.Live)
			if c.Live {
				current = "now"
			}
			if c.EndedAt != nil {
				live = "ended"
			}
			return []string{c.Organization, c.Cluster, live, current, console.Elapsed(c.FirstSeenAt), c.Message}, []string{c.UID, labels(c.Labels)}
		},
	}
}
