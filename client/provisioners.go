package client

import (
	"context"

	"kqueen.io/kqueen/api/rest"
)

// GetProvisionerCredentials returns which credentials a provisioner has, without their values (operation
// getProvisionerCredentials).
func (c *Client) GetProvisionerCredentials(ctx context.Context, organization, provisioner string) (*rest.CredentialKeys, error) {
	return called[rest.CredentialKeys](ctx, c, "getProvisionerCredentials", nil, nil, organization, provisioner)
}

// SetProvisionerCredentials replaces all credentials of a provisioner (operation setProvisionerCredentials).
func (c *Client) SetProvisionerCredentials(ctx context.Context, organization, provisioner string, values map[string]string) error {
	return c.call(ctx, "setProvisionerCredentials", nil, values, nil, organization, provisioner)
}

// RemoveProvisionerCredentials removes all credentials of a provisioner (operation removeProvisionerCredentials).
func (c *Client) RemoveProvisionerCredentials(ctx context.Context, organization, provisioner string) error {
	return c.call(ctx, "removeProvisionerCredentials", nil, nil, nil, organization, provisioner)
}
