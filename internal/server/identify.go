package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// identify finds out who asks. Whoever is nobody gets no further than the operations that are for everybody.
func (s *Server) identify(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	known := requestOf(ctx.Context())
	known.path = r.PathValue
	known.from, known.host = originOf(r), r.Host
	if _, local := socket.PeerOf(ctx.Context()); isPublic(ctx.Operation()) && !local {
		if !known.move(s.publics, partyOf(known.from.Address)) {
			tooMany(w, r)
			return
		}
		next(&reading{ctx, known})
		return
	}
	if err := s.authenticate(ctx.Context(), known, bearerOf(r)); err != nil {
		known.failure = err
		p := newProblem(http.StatusUnauthorized, rest.CodeUnauthenticated, "sign in, or give a token that is good: Authorization: Bearer …")
		if !errors.Is(err, access.ErrUnauthenticated) {
			p = explained(err)
		}
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="kqueen"`)
		s.refused(ctx, p)
		writeProblem(w, r, p)
		return
	}
	if !known.move(s.callers, known.caller.Name) {
		tooMany(w, r)
		return
	}
	next(&reading{huma.WithContext(ctx, withRequest(ctx.Context(), known)), known})
}

// reading says 400 where huma says 500 to a body that did not come to its end.
type reading struct {
	below

	request *request
}

// Unwrap lets huma find the request below.
func (r *reading) Unwrap() huma.Context { return r.below }

func (r *reading) SetStatus(status int) {
	if status == http.StatusInternalServerError && r.request.torn {
		status = http.StatusBadRequest
	}
	r.below.SetStatus(status)
}

// authenticate finds out who makes a request: the owner on the local socket, whom the kernel names, or else whose session
// or token this is.
func (s *Server) authenticate(ctx context.Context, known *request, bearer string) (err error) {
	if _, local := socket.PeerOf(ctx); local {
		known.identity = access.Identity{Kind: ownerKind, Name: OwnerName, Admin: true, Credential: access.Credential{Kind: "socket"}}
		known.caller = callerOf(known.identity, nil)
		return nil
	}
	known.bearer = bearer
	known.identity, known.caller, err = s.whoIs(ctx, bearer)
	return err
}

// whoIs returns who a bearer is and what that makes them in each organization.
func (s *Server) whoIs(ctx context.Context, bearer string) (access.Identity, Caller, error) {
	identity, err := s.Access.Authenticate(ctx, bearer)
	if err != nil {
		return access.Identity{}, Caller{}, fmt.Errorf("identify the caller: %w", err)
	}
	if identity.Provider != "" {
		stands, err := s.providers().Stands(ctx, identity.Provider, identity.Issuer)
		if err != nil {
			return access.Identity{}, Caller{}, fmt.Errorf("identify the caller: %w", err)
		}
		if !stands {
			return access.Identity{}, Caller{}, access.ErrUnauthenticated
		}
	}
	organizations, err := s.organizationsOf(ctx, identity)
	if err != nil {
		return access.Identity{}, Caller{}, fmt.Errorf("read the organizations: %w", err)
	}
	return identity, callerOf(identity, organizations), nil
}

// membersIndex finds the organizations of which somebody, or a group, is a member.
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

// Users and groups may have the same names, and are told apart by what stands before them.
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

// organizationsOf returns those in which somebody may be something. One may come twice.
func (s *Server) organizationsOf(ctx context.Context, identity access.Identity) ([]v1alpha1.Organization, error) {
	if identity.Scope != nil {
		one := v1alpha1.Organization{}
		err := s.Cache.Get(ctx, client.ObjectKey{Name: identity.Scope.Organization}, &one)
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
		if err := s.Cache.List(ctx, list, client.MatchingFields{membersIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// callerOf says what somebody is in each organization. It is pure.
func callerOf(identity access.Identity, organizations []v1alpha1.Organization) Caller {
	c := Caller{Name: identity.Name, Admin: identity.Admin, Roles: map[string]v1alpha1.Role{}}
	for i := range organizations {
		o := &organizations[i]
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

// recheck says whether the caller is still who they were, and still in the same groups.
func (s *Server) recheck(ctx context.Context) error {
	r := requestOf(ctx)
	if r.identity.Kind == ownerKind { // the connection is still that user's
		return nil
	}
	_, now, err := s.whoIs(ctx, r.bearer)
	if err != nil {
		return err
	}
	if now.Admin != r.caller.Admin || !maps.Equal(now.Roles, r.caller.Roles) {
		return errors.New("the caller's roles have changed")
	}
	return nil
}

func bearerOf(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// originOf is where a request comes from. What a proxy says of it is not believed.
func originOf(r *http.Request) access.Origin {
	origin := access.Origin{Client: r.UserAgent()}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return origin
	}
	if address, err := netip.ParseAddr(host); err == nil {
		origin.Address = address.Unmap().WithZone("")
	}
	return origin
}
