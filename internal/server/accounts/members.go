package accounts

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

const (
	// memberTries bounds how often a change of the members is tried again, because another caller was faster.
	memberTries = 20
	// maxMemberName is the longest name of a member, in characters, as the schema of organizations has it.
	maxMemberName = 256
)

// members are the users and groups that belong to an organization.
type members struct {
	callers client.Client
	rights  *rights.Rights
}

func (h *members) register(api huma.API) {
	const at, tag = "/organizations/{organization}/members", "Members"
	huma.Register(api, chain.Operation(http.MethodGet, at, "listMembers", "List the members of an organization", tag), h.listMembers)
	const one = at + "/{member}"
	huma.Register(api, chain.Operation(http.MethodPut, one, "setMember", "Add a user or group to the members of an organization, with a role", tag, chain.Recorded("set-member")), h.setMember)
	huma.Register(api, chain.Operation(http.MethodDelete, one, "removeMember", "Remove a member from an organization", tag, chain.Recorded("remove-member")), h.removeMember)
}

// OfMember is in the path of a member.
type OfMember struct {
	chain.InOrganization

	Member string `path:"member" maxLength:"264" doc:"user:NAME or group:NAME, percent-encoded."`
	DryRun bool   `query:"dryRun" doc:"Check whether it may be so; change nothing."`
}

// member reads whom a path means.
func (in OfMember) member() (v1alpha1.Member, error) {
	kind, name, _ := strings.Cut(in.Member, ":")
	bad := name == "" || utf8.RuneCountInString(name) > maxMemberName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl)
	switch {
	case !bad && kind == "user":
		return v1alpha1.Member{User: name}, nil
	case !bad && kind == "group":
		return v1alpha1.Member{Group: name}, nil
	}
	return v1alpha1.Member{}, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
		rest.FieldError{Pointer: "path:member", Detail: "is not a member; want user:NAME or group:NAME, with at most 256 characters of name"})
}

func toMember(m v1alpha1.Member) rest.Member {
	id := "user:" + m.User
	if m.Group != "" {
		id = "group:" + m.Group
	}
	return rest.Member{ID: id, User: m.User, Group: m.Group, Role: string(m.Role)}
}

func (h *members) listMembers(ctx context.Context, in *chain.InOrganization) (*chain.Answer[rest.Page[rest.Member]], error) {
	_, members, err := h.membersOf(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	out := rest.Page[rest.Member]{Items: []rest.Member{}}
	for i, m := range members {
		if !slices.ContainsFunc(members[:i], func(before v1alpha1.Member) bool { return sameMember(before, m) }) {
			m.Role = highest(members, m)
			out.Items = append(out.Items, toMember(m))
		}
	}
	return &chain.Answer[rest.Page[rest.Member]]{Body: out}, nil
}

func sameMember(a, b v1alpha1.Member) bool { return a.User == b.User && a.Group == b.Group }

// highest is the role that counts for a member that is named several times.
func highest(members []v1alpha1.Member, who v1alpha1.Member) v1alpha1.Role {
	if who.User != "" {
		return role.Of(members, who.User, nil)
	}
	return role.Of(members, "", []string{who.Group})
}

// membersOf reads an organization and its members, as the caller.
func (h *members) membersOf(ctx context.Context, organization string) (*unstructured.Unstructured, []v1alpha1.Member, error) {
	r := chain.Of(ctx)
	if _, err := h.rights.Organization(ctx, organization); err != nil {
		return nil, nil, err
	}
	r.Object = chain.Object{Kind: "Organization", Organization: organization, Name: organization}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Organization"))
	if err := h.callers.Get(ctx, client.ObjectKey{Name: organization}, o); err != nil {
		return nil, nil, problem.Explain(err)
	}
	r.Object.UID = string(o.GetUID())
	var typed v1alpha1.Organization
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		return nil, nil, problem.Explain(err)
	}
	return o, typed.Spec.Members, nil
}

type setMemberInput struct {
	OfMember

	Body rest.Membership
}

func (h *members) setMember(ctx context.Context, in *setMemberInput) (*chain.Answer[rest.Member], error) {
	who, err := in.member()
	if err != nil {
		return nil, err
	}
	who.Role = v1alpha1.Role(in.Body.Role)
	if err := h.changeMembers(ctx, in.OfMember, func(members []v1alpha1.Member) []v1alpha1.Member { return withMember(members, who) }); err != nil {
		return nil, err
	}
	return &chain.Answer[rest.Member]{Body: toMember(who)}, nil
}

func (h *members) removeMember(ctx context.Context, in *OfMember) (*struct{}, error) {
	who, err := in.member()
	if err != nil {
		return nil, err
	}
	return nil, h.changeMembers(ctx, *in, func(members []v1alpha1.Member) []v1alpha1.Member { return withoutMember(members, who) })
}

// withMember returns the members with one of them once, where it first stood. It is pure.
func withMember(members []v1alpha1.Member, who v1alpha1.Member) []v1alpha1.Member {
	at := slices.IndexFunc(members, func(m v1alpha1.Member) bool { return sameMember(m, who) })
	if at < 0 {
		return append(slices.Clone(members), who)
	}
	return slices.Insert(withoutMember(members, who), at, who)
}

func withoutMember(members []v1alpha1.Member, who v1alpha1.Member) []v1alpha1.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m v1alpha1.Member) bool { return sameMember(m, who) })
}

// changeMembers writes what becomes of the members, as the caller. Naming one, or giving one a higher role, takes a session that
// is fresh, or a token that mints; taking a role away takes none: that must not be slower than a thief. It reads and writes again
// when another caller has written meanwhile, so that of changes at once none is lost.
func (h *members) changeMembers(ctx context.Context, in OfMember, change func([]v1alpha1.Member) []v1alpha1.Member) error {
	if _, err := h.rights.Organization(ctx, in.Organization); err != nil {
		return err
	}
	// Also where there is nothing to write, only who may is told so.
	if err := h.rights.Require(ctx, rights.Act{Verb: "update", Resource: "organizations", Name: in.Organization}); err != nil {
		return err
	}
	for try := 1; ; try++ {
		o, have, err := h.membersOf(ctx, in.Organization)
		if err != nil {
			return err
		}
		want := change(have)
		if role.Raises(have, want) {
			if err := chain.RequireMint(ctx); err != nil {
				return err
			}
		}
		err = h.writeMembers(ctx, o, have, want, in)
		if try == memberTries || !apierrors.IsConflict(err) {
			return problem.Explain(err)
		}
	}
}

// forget removes a user from the members of all organizations, as the caller, and returns which these were. Organizations
// know users by their names alone: one who is created again under the same name would have the former one's roles.
func (h *members) forget(ctx context.Context, user string) ([]string, error) {
	all := &v1alpha1.OrganizationList{}
	if err := h.callers.List(ctx, all); err != nil {
		return nil, problem.Explain(err)
	}
	who := v1alpha1.Member{User: user}
	var left []string
	for i := range all.Items {
		o := &all.Items[i]
		if !slices.ContainsFunc(o.Spec.Members, func(m v1alpha1.Member) bool { return sameMember(m, who) }) {
			continue
		}
		in := OfMember{InOrganization: chain.InOrganization{Organization: o.Name}, Member: "user:" + user}
		err := h.changeMembers(ctx, in, func(members []v1alpha1.Member) []v1alpha1.Member { return withoutMember(members, who) })
		if err != nil && problem.Of(err).Status == http.StatusNotFound {
			return left, problem.New(http.StatusConflict, rest.CodeConflict, "the organization "+o.Name+" comes or goes just now; delete the user again")
		}
		if err != nil {
			return left, err
		}
		left = append(left, o.Name)
	}
	return left, nil
}

func (h *members) writeMembers(ctx context.Context, o *unstructured.Unstructured, have, want []v1alpha1.Member, in OfMember) error {
	r := chain.Of(ctx)
	r.Detail = map[string]string{"member": in.Member}
	if slices.Equal(have, want) {
		return nil
	}
	before := o.DeepCopy()
	list := make([]any, 0, len(want))
	for i := range want {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want[i])
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	if err := unstructured.SetNestedSlice(o.Object, list, "spec", "members"); err != nil {
		return err
	}
	options := []client.UpdateOption{client.FieldValidation(metav1.FieldValidationStrict)}
	if in.DryRun {
		options = append(options, client.DryRunAll)
	}
	if err := h.callers.Update(ctx, o, options...); err != nil {
		return err
	}
	if !in.DryRun {
		r.Changed(before, o)
	}
	return nil
}
