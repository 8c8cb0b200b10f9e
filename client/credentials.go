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

// GetBackupStoreCredentials returns which credentials a backup store has for its S3 server, without their values (operation
// getBackupStoreCredentials).
func (c *Client) GetBackupStoreCredentials(ctx context.Context, store string) (*rest.CredentialKeys, error) {
	return called[rest.CredentialKeys](ctx, c, "getBackupStoreCredentials", nil, nil, store)
}

// SetBackupStoreCredentials replaces the credentials of a backup store for its S3 server (operation setBackupStoreCredentials).
func (c *Client) SetBackupStoreCredentials(ctx context.Context, store string, values map[string]string) error {
	return c.call(ctx, "setBackupStoreCredentials", nil, values, nil, store)
}

// RemoveBackupStoreCredentials removes the credentials of a backup store for its S3 server (operation removeBackupStoreCredentials).
func (c *Client) RemoveBackupStoreCredentials(ctx context.Context, store string) error {
	return c.call(ctx, "removeBackupStoreCredentials", nil, nil, nil, store)
}
