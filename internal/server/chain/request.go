package chain

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// OwnerName is the owner of the machine, in the audit log and to the admin plane. No account can have a name like it: the
// prefix is kept from identity providers.
const OwnerName = "kqueen:owner"

// OwnerKind is the kind of the owner's identity, which is no account.
const OwnerKind access.Kind = "owner"

// Caller is who makes a request, and in which groups that puts them.
type Caller struct {
	// Name is unique in the installation.
	Name string
	// Admin says that they administer the installation.
	Admin bool
	// Roles are theirs by organization.
	Roles map[string]v1alpha1.Role
}

// As is the user that calls to the admin plane are made as.
func (c Caller) As(requestID string) kube.As {
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

// Belongs says whether an organization exists for the caller.
func (c Caller) Belongs(organization string) bool { return c.Admin || c.Roles[organization] != "" }

type requestKey struct{}

// Request is what the chain knows of a request, for the handlers, and what they tell of it for the audit log.
type Request struct {
	// ID names it in both logs and for the client.
	ID string
	// Caller and Identity are empty until the caller is authenticated, and for public operations.
	Caller   Caller
	Identity access.Identity
	From     access.Origin
	// Failure is why the answer is what it is; for the server's log alone.
	Failure error
	// Object is what the request is about, and Detail what else the audit log says.
	Object Object
	Detail map[string]string
	// Before and After are the states of what was changed; the audit log has their hashes.
	Before, After []byte
	// Unremarkable says that the audit log need not have it.
	Unremarkable bool
	// Denied says that the caller may not, where the status of the answer does not: OAuth has 400 for that.
	Denied bool

	// path holds the parameters of the path.
	path func(name string) string
	// bearer is what the caller proved it with, for streams, which ask again.
	bearer string
	// host is how the client calls the server.
	host string
	// leave makes room for another request in the share that this one is in. One that goes on as a stream leaves before.
	leave func()
	// attempt is there when the caller has chosen an Idempotency-Key; see Once.
	attempt *attempt
	// torn says that the body could not be read to its end.
	torn bool
	// logged says that the audit log takes the attempt, even of an unauthenticated caller.
	logged bool
}

// Object is what a request is about.
type Object struct{ Kind, Organization, Name, UID string }

// Path is the value of a parameter of the path.
func (r *Request) Path(name string) string { return r.path(name) }

// Base is the server's own address, as the client has it. A client that makes up a host gets an address that leads itself
// astray and no other.
func (r *Request) Base() string { return "https://" + r.host }

// Known says whether the caller is authenticated.
func (r *Request) Known() bool { return r.Identity.Kind != "" }

// SignedIn notes for the audit log who has signed in, and how.
func (r *Request) SignedIn(issued access.Issued, by string) {
	r.Object = Object{Kind: "User", Name: issued.Account}
	r.Detail = map[string]string{"by": by, "session": issued.ID}
}

// Changed notes for the audit log what an act changed; nil is what was not there before, or is not afterwards.
func (r *Request) Changed(before, after *unstructured.Unstructured) {
	if before != nil {
		r.Before, r.Object.UID = contentOf(before), string(before.GetUID())
	}
	if after != nil {
		r.After, r.Object.UID = contentOf(after), string(after.GetUID())
	}
}

// contentOf is what a caller may say of an object, in one notation.
func contentOf(o *unstructured.Unstructured) []byte {
	data, err := json.Marshal(map[string]any{"labels": o.GetLabels(), "annotations": o.GetAnnotations(), "spec": o.Object["spec"]})
	if err != nil {
		return nil
	}
	return data
}

func with(ctx context.Context, r *Request) context.Context {
	ctx = context.WithValue(ctx, requestKey{}, r)
	if r.Caller.Name != "" {
		ctx = kube.WithAs(ctx, r.Caller.As(r.ID))
	}
	return ctx
}

// Of returns what the chain knows of the request of a context. Without the chain it is that of no caller.
func Of(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{path: func(string) string { return "" }}
}
