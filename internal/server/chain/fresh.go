package chain

import (
	"context"

	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// RequireFresh returns a problem unless the caller may make what others sign in with, or they themselves later, and what no
// expiry bounds: passwords, administrators, identity providers, tokens that mint, and what lets into a cluster for as long as
// the cluster lives. That is a user who has signed in a short time ago, or the owner of the machine. A token makes none of
// these: what a thief makes with a stolen one would outlive its end. Ask it of a caller whose role allows the act.
func RequireFresh(ctx context.Context) error {
	i := Of(ctx).Identity
	switch {
	case i.Kind == OwnerKind, i.Fresh:
		return nil
	case i.Kind == access.User && i.Credential.Kind == access.Session:
		return problem.NeedsFresh()
	}
	return problem.ExplainAccess(access.ErrNeedsSession)
}

// RequireMint is RequireFresh for what a token that mints may do, too: accounts that let no caller in by themselves, tokens that
// end before it and may no more, and members, who are in the audit log with it.
func RequireMint(ctx context.Context) error {
	c := Of(ctx).Identity.Credential
	switch {
	case c.Kind != access.Token:
		return RequireFresh(ctx)
	case c.Mint:
		return nil
	}
	return problem.ExplainAccess(access.ErrNeedsMint)
}

// Minter is the token that makes what a request asks for; empty when a user does, or the owner of the machine.
func Minter(ctx context.Context) string {
	if c := Of(ctx).Identity.Credential; c.Kind == access.Token {
		return c.ID
	}
	return ""
}
