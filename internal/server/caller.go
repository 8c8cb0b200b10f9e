package server

import (
	"context"
	"slices"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// OwnerName is the owner of the machine, in the audit log and to the admin plane. No account can have a name like it: the
// prefix is kept from identity providers.
const OwnerName = "kqueen:owner"

// ownerKind is the kind of the owner's identity, which is no account.
const ownerKind access.Kind = "owner"

// Caller is who makes a request, and in which groups that puts them.
type Caller struct {
	// Name is unique in the installation.
	Name string
	// Admin says that they administer the installation.
	Admin bool
	// Roles are theirs by organization.
	Roles map[string]v1alpha1.Role
}

// as is whom calls to the admin plane are made as.
func (c Caller) as(requestID string) kube.As {
	groups := []string{role.Authenticated, "system:authenticated"}
	if c.Admin {
		groups = append(groups, role.Admins)
	}
	for organization, r := range c.Roles {
		groups = append(groups, role.Group(organization, r))
	}
	slices.Sort(groups)
	return kube.As{User: c.Name, Groups: groups, Extra: map[string]string{"kqueen.io%2Frequest-id": requestID}}
}

// belongs says whether an organization is any of the caller's business. To others it does not exist.
func (c Caller) belongs(organization string) bool { return c.Admin || c.Roles[organization] != "" }

type requestKey struct{}

// request is what the chain knows of a request, for the handlers.
type request struct {
	id     string
	caller Caller
	// path holds the parameters of the path.
	path     func(name string) string
	identity access.Identity
	// bearer is what they proved it with, for streams, which ask again.
	bearer string
	from   access.Origin
	// host is how the caller calls us.
	host string
	// leave makes room for another request in the share that this one is in. One that goes on as a stream leaves before.
	leave func()
	// torn says that the body could not be read to its end.
	torn bool
	// failure is why the answer is what it is; for the log alone.
	failure error
	// before and after are the states of what was changed, for the action log.
	before, after []byte
	object        objectName
	// roomInLog says that the action log has room for the try, whoever it is of.
	roomInLog bool
	// detail is what else the action log says.
	detail map[string]string
	// unremarkable says that the action log need not have it.
	unremarkable bool
}

// base is our own address, as the caller has it. Whoever makes up a host gets an address of no use to anybody else.
func (r *request) base() string { return "https://" + r.host }

// objectName is what a request is about.
type objectName struct{ kind, organization, name, uid string }

func withRequest(ctx context.Context, r *request) context.Context {
	ctx = context.WithValue(ctx, requestKey{}, r)
	if r.caller.Name != "" {
		ctx = kube.WithAs(ctx, r.caller.as(r.id))
	}
	return ctx
}

// requestOf returns what the chain put there. Without the chain there is nobody.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{path: func(string) string { return "" }}
}
