package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func (s *Server) registerUsers() {
	const tag = "Users"
	huma.Register(s.api, operation(http.MethodGet, "/users", "listUsers", "List users", tag), s.listUsers)
	o := operation(http.MethodPost, "/users", "createUser", "Make a user of this installation", tag, recorded("create"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.createUser)
	huma.Register(s.api, operation(http.MethodGet, "/users/{user}", "getUser", "Get a user", tag), s.getUser)
	huma.Register(s.api, operation(http.MethodPatch, "/users/{user}", "updateUser", "Change, disable or enable a user", tag, recorded("update")), s.updateUser)
	huma.Register(s.api, operation(http.MethodDelete, "/users/{user}", "deleteUser", "Delete a user, and end all sessions and tokens", tag, recorded("delete")), s.deleteUser)
	huma.Register(s.api, operation(http.MethodPost, "/users/{user}/reset", "resetUser", "Make a one-time token with which a user chooses a password", tag, recorded("reset-password")), s.resetUser)
	huma.Register(s.api, operation(http.MethodPost, "/users/{user}/revoke", "revokeUser", "End all sessions and tokens of a user", tag, recorded("revoke")), s.revokeUser)
}

// mayHere asks the admin plane whether the caller may do something with what is no object of it.
func (s *Server) mayHere(ctx context.Context, verb, resource, subresource, namespace, name string) error {
	allowed, err := s.allows(ctx, verb, resource, subresource, namespace, name)
	if err != nil {
		return err
	}
	if !allowed {
		return newProblem(http.StatusForbidden, rest.CodeForbidden, "your role does not allow that")
	}
	return nil
}

// allows is the API server's word on what mayHere asks.
func (s *Server) allows(ctx context.Context, verb, resource, subresource, namespace, name string) (bool, error) {
	r := requestOf(ctx)
	allowed, err := s.authority.May(ctx, r.caller.as(r.id), authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Resource: resource, Subresource: subresource, Verb: verb, Namespace: namespace, Name: name,
	})
	return allowed, explain(err)
}

func (s *Server) mayUsers(ctx context.Context, verb, name string) error {
	requestOf(ctx).object = objectName{kind: "User", name: name}
	return s.mayHere(ctx, verb, role.Users, "", "", name)
}

func (s *Server) listUsers(ctx context.Context, in *Paged) (*ok[rest.Page[rest.User]], error) {
	if err := s.mayUsers(ctx, "list", ""); err != nil {
		return nil, err
	}
	list, err := s.Access.ListUsers(ctx, in.page())
	if err != nil {
		return nil, explainAccess(err)
	}
	return toPage(list, toUser), nil
}

type newUserInput struct{ Body rest.NewUser }

func (s *Server) createUser(ctx context.Context, in *newUserInput) (*created[rest.User], error) {
	if err := s.mayUsers(ctx, "create", in.Body.Name); err != nil {
		return nil, err
	}
	user, err := s.Access.CreateUser(ctx, access.NewUser{
		Name: in.Body.Name, DisplayName: in.Body.DisplayName, Email: in.Body.Email, Admin: in.Body.Admin,
	})
	if err != nil {
		return nil, explainAccess(err)
	}
	return &created[rest.User]{Body: toUser(user)}, nil
}

// OfUser is in the path of a user.
type OfUser struct {
	User string `path:"user" maxLength:"256"`
}

func (s *Server) getUser(ctx context.Context, in *OfUser) (*ok[rest.User], error) {
	if err := s.mayUsers(ctx, "get", in.User); err != nil {
		return nil, err
	}
	return s.answerUser(ctx, in.User)
}

func (s *Server) answerUser(ctx context.Context, name string) (*ok[rest.User], error) {
	user, err := s.Access.GetUser(ctx, name)
	if err != nil {
		return nil, explainAccess(err)
	}
	return &ok[rest.User]{Body: toUser(user)}, nil
}

type userChangeInput struct {
	OfUser
	Body rest.UserChange
}

func (s *Server) updateUser(ctx context.Context, in *userChangeInput) (*ok[rest.User], error) {
	if err := s.mayUsers(ctx, "update", in.User); err != nil {
		return nil, err
	}
	if err := s.changeUser(ctx, in.User, in.Body); err != nil {
		return nil, explainAccess(err)
	}
	return s.answerUser(ctx, in.User)
}

// changeUser makes what can be refused first, so that little is done of what is refused.
func (s *Server) changeUser(ctx context.Context, name string, to rest.UserChange) error {
	user, err := s.Access.GetUser(ctx, name)
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
		if err := s.Access.UpdateUser(ctx, name, displayName, email); err != nil {
			return err
		}
	}
	if to.Admin != nil && *to.Admin != user.Admin {
		if err := s.Access.SetAdmin(ctx, name, *to.Admin); err != nil {
			return err
		}
	}
	switch {
	case to.Disabled == nil || *to.Disabled == user.Disabled:
		return nil
	case *to.Disabled:
		return s.Access.DisableUser(ctx, name)
	}
	return s.Access.EnableUser(ctx, name)
}

func (s *Server) deleteUser(ctx context.Context, in *OfUser) (*struct{}, error) {
	if err := s.mayUsers(ctx, "delete", in.User); err != nil {
		return nil, err
	}
	if err := s.Access.DeleteUser(ctx, in.User); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

func (s *Server) resetUser(ctx context.Context, in *OfUser) (*ok[rest.OneTime], error) {
	if err := s.mayUsers(ctx, "update", in.User); err != nil {
		return nil, err
	}
	once, err := s.Access.ResetPassword(ctx, in.User)
	if err != nil {
		return nil, explainAccess(err)
	}
	return &ok[rest.OneTime]{Body: rest.OneTime{Token: once.Token.Reveal(), Expires: once.Expires}}, nil
}

func (s *Server) revokeUser(ctx context.Context, in *OfUser) (*struct{}, error) {
	if err := s.mayUsers(ctx, "update", in.User); err != nil {
		return nil, err
	}
	if err := s.Access.RevokeAll(ctx, in.User); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

func toUser(u access.UserInfo) rest.User {
	return rest.User{
		Name: u.Name, DisplayName: u.DisplayName, Email: u.Email, Provider: u.Provider, Admin: u.Admin || u.GroupsAdmin,
		Disabled: u.Disabled, HasPassword: u.HasPassword, CreatedAt: u.Created, SignedInAt: someTime(u.SignedIn),
	}
}
