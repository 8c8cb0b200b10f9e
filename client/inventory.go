package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// InventoryFilter says what is wanted of what runs in clusters. Empty fields take all; several values of one field are
// alternatives. A list refuses what it does not have, such as namespaces of nodes.
type InventoryFilter struct {
	Paging

	// Organizations and Clusters are names. ClusterLabels are KEY=VALUE, which clusters have to have all of.
	Organizations, Clusters, ClusterLabels []string
	Namespaces                             []string
	// Repository, in which "*" stands for any text, Tag, Text and Digests are of images.
	Repository, Tag, Text string
	Digests               []string
	// Components, the constraint Version and Places are of binaries.
	Components []string
	Version    string
	Places     bool
	// Severities are of findings: Critical, Warning or Info.
	Severities []string
	// At is as of when; zero is now. From and To ask for what changed instead, of images and binaries.
	At, From, To time.Time
}

func (f InventoryFilter) query() url.Values {
	query := f.Paging.query()
	for name, values := range map[string][]string{
		"organization": f.Organizations, "cluster": f.Clusters, "clusterLabel": f.ClusterLabels, "namespace": f.Namespaces,
		"digest": f.Digests, "component": f.Components, "severity": f.Severities,
	} {
		if len(values) > 0 {
			query[name] = values
		}
	}
	for name, value := range map[string]string{
		"repository": f.Repository, "tag": f.Tag, "text": f.Text, "version": f.Version, "at": stamp(f.At), "from": stamp(f.From), "to": stamp(f.To),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Places {
		query.Set("places", "true")
	}
	return query
}

// ListInventoryImages returns a page of the images that run in clusters (operation listInventoryImages).
func (c *Client) ListInventoryImages(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryImage], error) {
	return called[rest.InventoryPage[rest.InventoryImage]](ctx, c, "listInventoryImages", filter.query(), nil)
}

// ListInventoryContainers returns a page of the containers of clusters (operation listInventoryContainers).
func (c *Client) ListInventoryContainers(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryContainer], error) {
	return called[rest.InventoryPage[rest.InventoryContainer]](ctx, c, "listInventoryContainers", filter.query(), nil)
}

// SearchInventoryContainers returns a page of the containers that run images of up to 1,000 digests (operation
// searchInventoryContainers).
func (c *Client) SearchInventoryContainers(ctx context.Context, filter InventoryFilter, search rest.InventorySearch) (*rest.InventoryPage[rest.InventoryContainer], error) {
	return called[rest.InventoryPage[rest.InventoryContainer]](ctx, c, "searchInventoryContainers", filter.query(), search)
}

// ListInventoryBinaries returns a page of the versions of programs of Kubernetes, or of the places where they run (operation
// listInventoryBinaries).
func (c *Client) ListInventoryBinaries(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryBinary], error) {
	return called[rest.InventoryPage[rest.InventoryBinary]](ctx, c, "listInventoryBinaries", filter.query(), nil)
}

// ListInventoryNodes returns a page of the nodes of clusters (operation listInventoryNodes).
func (c *Client) ListInventoryNodes(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryNode], error) {
	return called[rest.InventoryPage[rest.InventoryNode]](ctx, c, "listInventoryNodes", filter.query(), nil)
}

// ListInventoryWorkloads returns a page of the workloads of clusters (operation listInventoryWorkloads).
func (c *Client) ListInventoryWorkloads(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryWorkload], error) {
	return called[rest.InventoryPage[rest.InventoryWorkload]](ctx, c, "listInventoryWorkloads", filter.query(), nil)
}

// ListInventoryCertificates returns a page of the certificates that were seen in clusters (operation listInventoryCertificates).
func (c *Client) ListInventoryCertificates(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryCertificate], error) {
	return called[rest.InventoryPage[rest.InventoryCertificate]](ctx, c, "listInventoryCertificates", filter.query(), nil)
}

// ListInventoryFindings returns a page of what deserves attention in clusters (operation listInventoryFindings).
func (c *Client) ListInventoryFindings(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryFinding], error) {
	return called[rest.InventoryPage[rest.InventoryFinding]](ctx, c, "listInventoryFindings", filter.query(), nil)
}

// ListInventoryClusters returns the clusters that are known, all on one page (operation listInventoryClusters).
func (c *Client) ListInventoryClusters(ctx context.Context, filter InventoryFilter) (*rest.InventoryPage[rest.InventoryCluster], error) {
	return called[rest.InventoryPage[rest.InventoryCluster]](ctx, c, "listInventoryClusters", filter.query(), nil)
}

// GetClusterTopology returns what belongs to what in a cluster as it is now, in some namespaces or in all (operation getClusterTopology).
// The cluster is asked for it: an answer takes up to 20 s.
func (c *Client) GetClusterTopology(ctx context.Context, organization, cluster string, namespaces ...string) (*rest.ClusterTopology, error) {
	query := url.Values{}
	if len(namespaces) > 0 {
		query["namespace"] = namespaces
	}
	return called[rest.ClusterTopology](ctx, c, "getClusterTopology", query, nil, organization, cluster)
}

// GetClusterUpgradePlan returns what an upgrade of a cluster to a version would be, and what stands against it (operation
// getClusterUpgradePlan), or with rollback one that goes back, and with the name of a backup one that restores that. The cluster is asked for it: an answer takes up to half a minute. Nothing is
// changed.
func (c *Client) GetClusterUpgradePlan(ctx context.Context, organization, cluster, version string, rollback bool, restoreBackup string, backup bool) (*rest.UpgradePlan, error) {
	query := url.Values{"version": {version}, "backup": {strconv.FormatBool(backup)}}
	if rollback {
		query.Set("rollback", "true")
	}
	if restoreBackup != "" {
		query.Set("restoreBackupName", restoreBackup)
	}
	return called[rest.UpgradePlan](ctx, c, "getClusterUpgradePlan", query, nil, organization, cluster)
}

// GetClusterUsage returns what the nodes of a cluster have, what pods ask of them, and what is used where that is measured, as it is now
// (operation getClusterUsage). The cluster is asked for it: an answer takes up to 20 s.
func (c *Client) GetClusterUsage(ctx context.Context, organization, cluster string) (*rest.ClusterUsage, error) {
	return called[rest.ClusterUsage](ctx, c, "getClusterUsage", nil, nil, organization, cluster)
}

// ExportInventory returns all rows of a list, which is named by its operation, such as listInventoryImages, in a format: csv, or
// of images cyclonedx. The second result has how well the clusters are known. With digests it is searchInventoryContainers.
func (c *Client) ExportInventory(ctx context.Context, operation string, filter InventoryFilter, search *rest.InventorySearch, format string) ([]byte, rest.InventoryAsOf, error) {
	var asOf rest.InventoryAsOf
	o, ok := operations[operation]
	if !ok {
		return nil, asOf, fmt.Errorf("operation: there is no %q", operation)
	}
	query := filter.query()
	query.Set("format", format)
	r := Request{Method: o.Method, Path: rest.Prefix + o.Path, Query: query}
	if search != nil {
		r.Body = search
	}
	answer, err := c.tried(ctx, r)
	if err != nil {
		return nil, asOf, err
	}
	if err := answer.decode(nil); err != nil {
		return nil, asOf, err
	}
	if err := json.Unmarshal([]byte(answer.header.Get(rest.HeaderInventoryAsOf)), &asOf); err != nil {
		return nil, asOf, fmt.Errorf("%s %s: the server does not answer as KQueen does; is its URL right? (%w)", o.Method, r.Path, err)
	}
	return answer.body, asOf, nil
}
