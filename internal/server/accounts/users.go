package accounts

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// users are those who sign in.
type users struct {
	users       *access.Users
	passwords   *access.Passwords
	credentials *access.Credentials
	members     *members
	rights      *rights.Rights
}

func (h *users) register(api huma.API) {
	const tag = "Users"
	huma.Register(api, chain.Operation(http.MethodGet, "/users", "listUsers", "List users", tag), h.listUsers)
	o := chain.Operation(http.MethodPost, "/users", "createUser", "Create a user of this installation", tag, chain.Recorded("create"), chain.Keyed(chain.Replayed))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.createUser)
	huma.Register(api, chain.Operation(http.MethodGet, "/users/{user}", "getUser", "Get a user", tag), h.getUser)
	huma.Register(api, chain.Operation(http.MethodPatch, "/users/{user}", "updateUser", "Change, disable or enable a user", tag, chain.Recorded("update")), h.updateUser)
	huma.Register(api, chain.Operation(http.MethodDelete, "/users/{user}", "deleteUser", "Delete a user with all sessions, tokens and memberships", tag, chain.Recorded("delete")), h.deleteUser)
	huma.Register(api, chain.Operation(http.MethodPost, "/users/{user}/reset", "resetUser", "Create a one-time token with which a user chooses a password", tag, chain.Recorded("reset-password")), h.resetUser)
	huma.Register(api, chain.Operation(http.MethodPost, "/users/{user}/revoke", "revokeUser", "Revoke all sessions and tokens of a user", tag, chain.Recorded("revoke")), h.revokeUser)
}

func (h *users) mayUsers(ctx context.Context, verb, name string) error {
	chain.Of(ctx).Object = chain.Object{Kind: "User", Name: name}
	return h.rights.Require(ctx, rights.Act{Verb: verb, Resource: role.Users, Name: name})
}

// mayMint is mayUsers for a user who cannot sign in yet, and may nothing.
func (h *users) mayMint(ctx context.Context, verb, name string) error {
	if err := h.mayUsers(ctx, verb, name); err != nil {
		return err
	}
	return chain.RequireMint(ctx)
}

// mayLetIn is mayUsers for what lets a user in, or do more.
func (h *users) mayLetIn(ctx context.Context, verb, name string) error {
	if err := h.mayUsers(ctx, verb, name); err != nil {
		return err
	}
	return chain.RequireFresh(ctx)
}

func (h *users) listUsers(ctx context.Context, in *Paged) (*chain.Answer[rest.Page[rest.User]], error) {
	if err := h.mayUsers(ctx, "list", ""); err != nil {
		return nil, err
	}
	list, err := h.users.List(ctx, in.page())
	return answerPage(list, err, toUser)
}

type newUserInput struct{ Body rest.NewUser }

func (h *users) createUser(ctx context.Context, in *newUserInput) (*chain.Answer[rest.User], error) {
	may := h.mayMint
	if in.Body.Admin {
		may = h.mayLetIn
	}
	if err := may(ctx, "create", in.Body.Name); err != nil {
		return nil, err
	}
	return chain.Once(ctx, func() (*chain.Answer[rest.User], error) {
		user, err := h.users.Create(ctx, access.NewUser{
			Name: in.Body.Name, DisplayName: in.Body.DisplayName, Email: in.Body.Email, Admin: in.Body.Admin,
		})
		return answer(user, err, toUser)
	})
}

// OfUser is in the path of a user.
type OfUser struct {
	User string `path:"user" maxLength:"256"`
}

func (h *users) getUser(ctx context.Context, in *OfUser) (*chain.Answer[rest.User], error) {
	if err := h.mayUsers(ctx, "get", in.User); err != nil {
		return nil, err
	}
	return h.answerUser(ctx, in.User)
}

func (h *users) answerUser(ctx context.Context, name string) (*chain.Answer[rest.User], error) {
	user, err := h.users.Get(ctx, name)
	return answer(user, err, toUser)
}

type userChangeInput struct {
	OfUser
	Body rest.UserChange
}

func (h *users) updateUser(ctx context.Context, in *userChangeInput) (*chain.Answer[rest.User], error) {
	may := h.mayUsers
	if to := in.Body; to.Admin != nil && *to.Admin || to.Disabled != nil && !*to.Disabled {
		may = h.mayLetIn
	}
	if err := may(ctx, "update", in.User); err != nil {
		return nil, err
	}
	if err := h.changeUser(ctx, in.User, in.Body); err != nil {
		return nil, problem.ExplainAccess(err)
	}
	return h.answerUser(ctx, in.User)
}

// changeUser makes what can be refused first, so that little is done of what is refused.
func (h *users) changeUser(ctx context.Context, name string, to rest.UserChange) error {
	user, err := h.users.Get(ctx, name)
	if err != nil {
		return err
	}
	if to.DisplayName != nil || to.Email != nil {
		displayName, email := user.DisplayName, user.Email
		if to.DisplayName != nil {
			displayName = *to.DisplayName
		}
		if to.Email != nil {
			email = *to.Email
		}
		if err := h.users.Update(ctx, name, displayName, email); err != nil {
			return err
		}
	}
	if to.Admin != nil && *to.Admin != user.Admin {
		if err := h.users.SetAdmin(ctx, name, *to.Admin); err != nil {
			return err
		}
	}
	switch {
	case to.Disabled == nil || *to.Disabled == user.Disabled:
		return nil
	case *to.Disabled:
		return h.users.Disable(ctx, name)
	}
	return h.users.Enable(ctx, name)
}

func (h *users) deleteUser(ctx context.Context, in *OfUser) (*struct{}, error) {
	if err := h.mayUsers(ctx, "delete", in.User); err != nil {
		return nil, err
	}
	// Disabled first: nothing of the user is good while the rest is done, and what is interrupted can be repeated.
	if err := h.users.Disable(ctx, in.User); err != nil {
		return nil, problem.ExplainAccess(err)
	}
	left, err := h.members.forget(ctx, in.User)
	r := chain.Of(ctx)
	r.Object, r.Before, r.After, r.Detail = chain.Object{Kind: "User", Name: in.User}, nil, nil, nil
	if len(left) > 0 {
		r.Detail = map[string]string{"leaves": strings.Join(left, ",")}
	}
	if err != nil {
		return nil, err
	}
	return nil, problem.ExplainAccess(h.users.Delete(ctx, in.User))
}

func (h *users) resetUser(ctx context.Context, in *OfUser) (*chain.Answer[rest.OneTime], error) {
	if err := h.mayLetIn(ctx, "update", in.User); err != nil {
		return nil, err
	}
	once, err := h.passwords.Reset(ctx, in.User)
	if err != nil {
		return nil, problem.ExplainAccess(err)
	}
	return &chain.Answer[rest.OneTime]{Body: rest.OneTime{Token: once.Token.Reveal(), Expires: once.Expires}}, nil
}

func (h *users) revokeUser(ctx context.Context, in *OfUser) (*struct{}, error) {
	if err := h.mayUsers(ctx, "update", in.User); err != nil {
		return nil, err
	}
	return nil, problem.ExplainAccess(h.credentials.RevokeAll(ctx, in.User))
}

func toUser(u access.UserInfo) rest.User {
	return rest.User{
		Name: u.Name, DisplayName: u.DisplayName, Email: u.Email, Provider: u.Provider, Admin: u.Admin || u.GroupsAdmin,
		Disabled: u.Disabled, HasPassword: u.HasPassword, CreatedAt: u.Created, SignedInAt: someTime(u.SignedIn),
	}
}
