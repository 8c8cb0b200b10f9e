package chain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// Authenticator says whose a session or token is, as access.Credentials does.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (access.Identity, error)
}

// Identities authenticate callers, whichever way a request comes.
type Identities struct {
	credentials Authenticator
	providers   identityprovider.Source
	cache       client.Reader
}

// Authenticate finds out who makes a request: on the local socket the owner, whom the kernel names, and else the account
// whose session or token the secret is. Where only some kinds of credentials are taken, they are named. The request is
// as it was when the caller is not known. Errors: access.ErrUnauthenticated; another one says that this could not be found out.
func (i *Identities) Authenticate(ctx context.Context, r *Request, secret string, only ...access.CredentialKind) error {
	if _, local := socket.PeerOf(ctx); local {
		r.Identity = access.Identity{Kind: OwnerKind, Name: OwnerName, Admin: true, Credential: access.Credential{Kind: "socket"}}
		r.Caller = callerOf(r.Identity, nil)
		return nil
	}
	identity, caller, err := i.whoIs(ctx, secret)
	if err != nil {
		return err
	}
	if len(only) > 0 && !slices.Contains(only, identity.Credential.Kind) {
		return access.ErrUnauthenticated
	}
	r.Identity, r.Caller, r.bearer = identity, caller, secret
	return nil
}

// whoIs returns who a bearer is and what that makes them in each organization. An error is a refusal, or problem.Unasked.
func (i *Identities) whoIs(ctx context.Context, bearer string) (access.Identity, Caller, error) {
	identity, caller, err := i.find(ctx, bearer)
	if err != nil && !problem.Refuses(err) {
		err = problem.Unasked(err)
	}
	return identity, caller, err
}

func (i *Identities) find(ctx context.Context, bearer string) (access.Identity, Caller, error) {
	identity, err := i.credentials.Authenticate(ctx, bearer)
	if err != nil {
		return access.Identity{}, Caller{}, fmt.Errorf("identify the caller: %w", err)
	}
	if identity.Provider != "" {
		stands, err := i.providers.Stands(ctx, identity.Provider, identity.Issuer)
		if err != nil {
			return access.Identity{}, Caller{}, fmt.Errorf("identify the caller: %w", err)
		}
		if !stands {
			return access.Identity{}, Caller{}, access.ErrUnauthenticated
		}
	}
	organizations, err := i.organizationsOf(ctx, identity)
	if err != nil {
		return access.Identity{}, Caller{}, fmt.Errorf("read the organizations: %w", err)
	}
	return identity, callerOf(identity, organizations), nil
}

// membersIndex finds the organizations of which a user, or a group, is a member.
const membersIndex = "spec.members"

// Index makes what lists are read from find the organizations of a caller without a look at all the others. Call it
// before the cache is filled.
func Index(ctx context.Context, cache client.FieldIndexer) error {
	err := cache.IndexField(ctx, &v1alpha1.Organization{}, membersIndex, func(o client.Object) []string {
		return memberKeys(o.(*v1alpha1.Organization).Spec.Members)
	})
	if err != nil {
		return fmt.Errorf("index the members of organizations: %w", err)
	}
	return nil
}

// Users and groups may have the same names, and are told apart by these prefixes.
const userKey, groupKey = "user:", "group:"

func memberKeys(members []v1alpha1.Member) []string {
	var keys []string
	for _, m := range members {
		if m.User != "" {
			keys = append(keys, userKey+m.User)
		}
		if m.Group != "" {
			keys = append(keys, groupKey+m.Group)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// organizationsOf returns those in which an identity may have a role. One may come twice.
func (i *Identities) organizationsOf(ctx context.Context, identity access.Identity) ([]v1alpha1.Organization, error) {
	if identity.Scope != nil {
		one := v1alpha1.Organization{}
		err := i.cache.Get(ctx, client.ObjectKey{Name: identity.Scope.Organization}, &one)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []v1alpha1.Organization{one}, err
	}
	var all []v1alpha1.Organization
	keys := []string{userKey + identity.Name}
	for _, group := range identity.Groups {
		keys = append(keys, groupKey+group)
	}
	for _, key := range keys {
		list := &v1alpha1.OrganizationList{}
		// The cache's own objects, which are not changed: copies for each request would be many.
		if err := i.cache.List(ctx, list, client.MatchingFields{membersIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// callerOf says which role an identity has in each organization. It is pure.
func callerOf(identity access.Identity, organizations []v1alpha1.Organization) Caller {
	c := Caller{Name: identity.Name, Admin: identity.Admin, Roles: map[string]v1alpha1.Role{}}
	for n := range organizations {
		o := &organizations[n]
		r := role.Of(o.Spec.Members, identity.Name, identity.Groups)
		if scope := identity.Scope; scope != nil {
			r = narrowed(identity, o.Name, r)
		}
		if r != "" {
			c.Roles[o.Name] = r
		}
	}
	return c
}

// narrowed is what remains of a role for a credential that is narrowed to one organization and role.
func narrowed(identity access.Identity, organization string, r v1alpha1.Role) v1alpha1.Role {
	to := v1alpha1.Role(identity.Scope.Role)
	switch {
	case identity.Scope.Organization != organization || !role.Valid(to):
		return ""
	case identity.Kind == access.ServiceAccount, identity.OwnerAdmin:
		return to
	}
	return role.Lower(to, r)
}

// recheck says whether the caller is still who they were, and still in the same groups. An error that is no refusal
// (problem.Refuses) says that this could not be found out.
func (i *Identities) recheck(ctx context.Context) error {
	r := Of(ctx)
	if r.Identity.Kind == OwnerKind { // the connection is still that user's
		return nil
	}
	_, now, err := i.whoIs(ctx, r.bearer)
	if err != nil {
		return err
	}
	if now.Admin != r.Caller.Admin || !maps.Equal(now.Roles, r.Caller.Roles) {
		return problem.Changed()
	}
	return nil
}
