package chain

import (
	"context"

	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// RequireFresh returns a problem unless the caller may make what others sign in with, or they themselves later: accounts,
// tokens, passwords, identity providers, and what lets into a cluster for as long as the cluster lives. That is a user
// who has signed in a short time ago, or the owner of the machine. A token makes none of these: what a thief makes with a
// stolen one would outlive its end. Ask it of a caller whose role allows the act.
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
