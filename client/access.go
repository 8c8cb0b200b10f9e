package client

import (
	"context"

	"kqueen.io/kqueen/api/rest"
)

// SetUp makes the first administrator (operation setUp). The caller need not be signed in.
func (c *Client) SetUp(ctx context.Context, in rest.SetUp) (*rest.User, error) {
	return called[rest.User](ctx, c, "setUp", nil, in)
}

// SignIn begins a session (operation signIn). The caller need not be signed in.
func (c *Client) SignIn(ctx context.Context, in rest.SignIn) (*rest.Issued, error) {
	return called[rest.Issued](ctx, c, "signIn", nil, in)
}

// ChoosePassword sets a password with a one-time token (operation choosePassword). The caller need not be signed in.
func (c *Client) ChoosePassword(ctx context.Context, in rest.ChoosePassword) error {
	return c.call(ctx, "choosePassword", nil, in, nil)
}

// SignOut ends the session that makes the call (operation signOut).
func (c *Client) SignOut(ctx context.Context) error { return c.call(ctx, "signOut", nil, nil, nil) }

// GetMe returns who calls (operation getMe).
func (c *Client) GetMe(ctx context.Context) (*rest.Me, error) {
	return called[rest.Me](ctx, c, "getMe", nil, nil)
}

// ChangePassword changes the caller's password (operation changePassword).
func (c *Client) ChangePassword(ctx context.Context, in rest.ChangePassword) error {
	return c.call(ctx, "changePassword", nil, in, nil)
}

// ListCredentials returns a page of the caller's sessions and tokens (operation listCredentials).
func (c *Client) ListCredentials(ctx context.Context, page Paging) (*rest.Page[rest.Credential], error) {
	return called[rest.Page[rest.Credential]](ctx, c, "listCredentials", page.query(), nil)
}

// CreateToken makes a token of the caller's (operation createToken).
func (c *Client) CreateToken(ctx context.Context, in rest.NewToken) (*rest.Issued, error) {
	return called[rest.Issued](ctx, c, "createToken", nil, in)
}

// RevokeCredential ends a session or a token of the caller's, by its ID (operation revokeCredential).
func (c *Client) RevokeCredential(ctx context.Context, id string) error {
	return c.call(ctx, "revokeCredential", nil, nil, nil, id)
}

// ListUsers returns a page of the users (operation listUsers).
func (c *Client) ListUsers(ctx context.Context, page Paging) (*rest.Page[rest.User], error) {
	return called[rest.Page[rest.User]](ctx, c, "listUsers", page.query(), nil)
}

// CreateUser makes a user of the installation, without a password yet (operation createUser).
func (c *Client) CreateUser(ctx context.Context, in rest.NewUser) (*rest.User, error) {
	return called[rest.User](ctx, c, "createUser", nil, in)
}

// UpdateUser changes a user, and enables and disables one (operation updateUser).
func (c *Client) UpdateUser(ctx context.Context, name string, in rest.UserChange) (*rest.User, error) {
	return called[rest.User](ctx, c, "updateUser", nil, in, name)
}

// DeleteUser deletes a user with all sessions and tokens (operation deleteUser).
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	return c.call(ctx, "deleteUser", nil, nil, nil, name)
}

// ResetUser makes a one-time token with which a user chooses a password (operation resetUser).
func (c *Client) ResetUser(ctx context.Context, name string) (*rest.OneTime, error) {
	return called[rest.OneTime](ctx, c, "resetUser", nil, nil, name)
}
