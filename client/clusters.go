package client

import (
	"context"
	"net/url"
	"strconv"

	"kqueen.io/kqueen/api/rest"
)

// SummarizeClusters counts the clusters of an organization, or, when that is empty, of all that the caller belongs to (operation
// summarizeClusters). Of the query, paging and order mean nothing.
func (c *Client) SummarizeClusters(ctx context.Context, organization string, q ObjectQuery) (*rest.ClusterSummary, error) {
	q.Paging, q.Sort = Paging{}, ""
	query := q.query()
	if organization != "" {
		query.Set("organization", organization)
	}
	return called[rest.ClusterSummary](ctx, c, "summarizeClusters", query, nil)
}

// GetClusterCredentials returns which credentials of an adopted cluster are set, without their values (operation
// getClusterCredentials).
func (c *Client) GetClusterCredentials(ctx context.Context, organization, cluster string) (*rest.CredentialKeys, error) {
	return called[rest.CredentialKeys](ctx, c, "getClusterCredentials", nil, nil, organization, cluster)
}

// Setting says how credentials of an adopted cluster are set.
type Setting struct {
	// Force sets them also when the cluster refuses them or does not answer.
	Force bool
	// DryRun checks them, also with the cluster, and changes nothing.
	DryRun bool
}

// SetClusterCredentials replaces the credentials by which an adopted cluster is reached (operation setClusterCredentials).
func (c *Client) SetClusterCredentials(ctx context.Context, organization, cluster string, values map[string]string, how Setting) error {
	query := url.Values{}
	for name, set := range map[string]bool{"force": how.Force, "dryRun": how.DryRun} {
		if set {
			query.Set(name, strconv.FormatBool(set))
		}
	}
	return c.call(ctx, "setClusterCredentials", query, values, nil, organization, cluster)
}

// CreateAgentToken returns a one-time token, and the manifests with which an agent in an adopted cluster enrolls (operation
// createAgentToken).
func (c *Client) CreateAgentToken(ctx context.Context, organization, cluster string, how rest.AgentTokenRequest) (*rest.AgentToken, error) {
	return called[rest.AgentToken](ctx, c, "createAgentToken", nil, how, organization, cluster)
}

// RemoveClusterCredentials removes the credentials by which an adopted cluster is reached (operation removeClusterCredentials).
func (c *Client) RemoveClusterCredentials(ctx context.Context, organization, cluster string) error {
	return c.call(ctx, "removeClusterCredentials", nil, nil, nil, organization, cluster)
}
