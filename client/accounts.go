package client

import (
	"context"
	"net/http"

	"kqueen.io/kqueen/api/rest"
)

// accountOperations are those about who signs in, beside those of the table of operations.
var accountOperations = map[string]Operation{
	"getUser":                   {Method: http.MethodGet, Path: "/users/{user}"},
	"revokeUser":                {Method: http.MethodPost, Path: "/users/{user}/revoke"},
	"listServiceAccounts":       {Method: http.MethodGet, Path: "/organizations/{organization}/serviceaccounts"},
	"createServiceAccount":      {Method: http.MethodPost, Path: "/organizations/{organization}/serviceaccounts"},
	"getServiceAccount":         {Method: http.MethodGet, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}"},
	"updateServiceAccount":      {Method: http.MethodPatch, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}"},
	"deleteServiceAccount":      {Method: http.MethodDelete, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}"},
	"listServiceAccountTokens":  {Method: http.MethodGet, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}/tokens"},
	"createServiceAccountToken": {Method: http.MethodPost, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}/tokens"},
	"revokeServiceAccountToken": {Method: http.MethodDelete, Path: "/organizations/{organization}/serviceaccounts/{serviceAccount}/tokens/{credential}"},
}

// GetUser returns a user (operation getUser).
func (c *Client) GetUser(ctx context.Context, name string) (*rest.User, error) {
	return called[rest.User](ctx, c, "getUser", nil, nil, name)
}

// RevokeUser ends all sessions and tokens of a user (operation revokeUser).
func (c *Client) RevokeUser(ctx context.Context, name string) error {
	return c.call(ctx, "revokeUser", nil, nil, nil, name)
}

// ListServiceAccounts returns a page of an organization's service accounts (operation listServiceAccounts).
func (c *Client) ListServiceAccounts(ctx context.Context, organization string, page Paging) (*rest.Page[rest.ServiceAccount], error) {
	return called[rest.Page[rest.ServiceAccount]](ctx, c, "listServiceAccounts", page.query(), nil, organization)
}

// GetServiceAccount returns a service account (operation getServiceAccount).
func (c *Client) GetServiceAccount(ctx context.Context, organization, name string) (*rest.ServiceAccount, error) {
	return called[rest.ServiceAccount](ctx, c, "getServiceAccount", nil, nil, organization, name)
}

// CreateServiceAccount makes a service account, which has no token yet (operation createServiceAccount).
func (c *Client) CreateServiceAccount(ctx context.Context, organization string, in rest.NewServiceAccount) (*rest.ServiceAccount, error) {
	return called[rest.ServiceAccount](ctx, c, "createServiceAccount", nil, in, organization)
}

// UpdateServiceAccount changes a service account, and enables and disables one (operation updateServiceAccount).
func (c *Client) UpdateServiceAccount(ctx context.Context, organization, name string, in rest.ServiceAccountChange) (*rest.ServiceAccount, error) {
	return called[rest.ServiceAccount](ctx, c, "updateServiceAccount", nil, in, organization, name)
}

// DeleteServiceAccount deletes a service account with its tokens (operation deleteServiceAccount).
func (c *Client) DeleteServiceAccount(ctx context.Context, organization, name string) error {
	return c.call(ctx, "deleteServiceAccount", nil, nil, nil, organization, name)
}

// ListServiceAccountTokens returns a page of a service account's tokens (operation listServiceAccountTokens).
func (c *Client) ListServiceAccountTokens(ctx context.Context, organization, name string, page Paging) (*rest.Page[rest.Credential], error) {
	return called[rest.Page[rest.Credential]](ctx, c, "listServiceAccountTokens", page.query(), nil, organization, name)
}

// CreateServiceAccountToken makes a token of a service account (operation createServiceAccountToken).
func (c *Client) CreateServiceAccountToken(ctx context.Context, organization, name string, in rest.NewToken) (*rest.Issued, error) {
	return called[rest.Issued](ctx, c, "createServiceAccountToken", nil, in, organization, name)
}

// RevokeServiceAccountToken ends a token of a service account, by its ID (operation revokeServiceAccountToken).
func (c *Client) RevokeServiceAccountToken(ctx context.Context, organization, name, id string) error {
	return c.call(ctx, "revokeServiceAccountToken", nil, nil, nil, organization, name, id)
}
