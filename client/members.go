package client

import (
	"context"

	"kqueen.io/kqueen/api/rest"
)

// ListMembers returns who belongs to an organization, all on one page (operation listMembers).
func (c *Client) ListMembers(ctx context.Context, organization string) (*rest.Page[rest.Member], error) {
	return called[rest.Page[rest.Member]](ctx, c, "listMembers", nil, nil, organization)
}

// SetMember lets a user belong to an organization in a role, whatever they were before (operation setMember). member is
// "user:NAME" or "group:NAME".
func (c *Client) SetMember(ctx context.Context, organization, member string, in rest.Membership) (*rest.Member, error) {
	return called[rest.Member](ctx, c, "setMember", nil, in, organization, member)
}

// RemoveMember lets a user no longer belong to an organization; also who did not (operation removeMember).
func (c *Client) RemoveMember(ctx context.Context, organization, member string) error {
	return c.call(ctx, "removeMember", nil, nil, nil, organization, member)
}
