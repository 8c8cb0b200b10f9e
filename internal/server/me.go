package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/access"
)

func (s *Server) registerMe() {
	huma.Register(s.api, operation(http.MethodGet, "/me", "getMe", "Who you are, and what you may", "Me"), s.getMe)
	huma.Register(s.api, operation(http.MethodPost, "/me/password", "changePassword", "Change your password", "Me", ofAccount, recorded("change-password")), s.changePassword)
	huma.Register(s.api, operation(http.MethodGet, "/me/credentials", "listCredentials", "List your sessions and tokens", "Me", ofAccount), s.listCredentials)
	o := operation(http.MethodPost, "/me/tokens", "createToken", "Make a token of your own", "Me", ofAccount, recorded("create-token"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.createToken)
	huma.Register(s.api, operation(http.MethodDelete, "/me/credentials/{credential}", "revokeCredential", "End a session or a token of your own", "Me", ofAccount, recorded("revoke")), s.revokeCredential)
}

func (s *Server) getMe(ctx context.Context, _ *struct{}) (*ok[rest.Me], error) {
	r := requestOf(ctx)
	me := rest.Me{
		Name: r.identity.Name, DisplayName: r.identity.DisplayName, Email: r.identity.Email, Kind: string(r.identity.Kind),
		Admin: r.caller.Admin, Roles: map[string]string{}, Groups: r.identity.Groups,
	}
	for organization, role := range r.caller.Roles {
		me.Roles[organization] = string(role)
	}
	credential := r.identity.Credential
	me.Credential.Kind, me.Credential.ID, me.Credential.Expires = string(credential.Kind), credential.ID, credential.Expires
	return &ok[rest.Me]{Body: me}, nil
}

type changePasswordInput struct{ Body rest.ChangePassword }

func (s *Server) changePassword(ctx context.Context, in *changePasswordInput) (*struct{}, error) {
	r := requestOf(ctx)
	r.object = objectName{kind: "User", name: r.identity.Name}
	if err := s.Access.ChangePassword(ctx, r.identity.Name, in.Body.Old, in.Body.Password, r.from); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

// Paged is for lists of what is kept in SQL.
type Paged struct {
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"256" doc:"Where to go on: the cursor of the page before."`
}

func (p Paged) page() access.Page { return access.Page{Limit: p.Limit, After: p.Cursor} }

// toPage converts a page of identities.
func toPage[A, B any](list access.List[A], convert func(A) B) *ok[rest.Page[B]] {
	page := rest.Page[B]{Items: make([]B, 0, len(list.Items)), Cursor: list.Next}
	for _, item := range list.Items {
		page.Items = append(page.Items, convert(item))
	}
	return &ok[rest.Page[B]]{Body: page}
}

func (s *Server) listCredentials(ctx context.Context, in *Paged) (*ok[rest.Page[rest.Credential]], error) {
	list, err := s.Access.ListCredentials(ctx, requestOf(ctx).identity.Name, "", in.page())
	if err != nil {
		return nil, explainAccess(err)
	}
	return toPage(list, toCredential), nil
}

// WithNewToken has a token to be made in its body.
type WithNewToken struct{ Body rest.NewToken }

func (in WithNewToken) wanted() access.NewToken {
	wanted := access.NewToken{Name: in.Body.Name, Expires: in.Body.Expires}
	if scope := in.Body.Scope; scope != nil {
		wanted.Scope = &access.Scope{Organization: scope.Organization, Role: scope.Role}
	}
	return wanted
}

func (s *Server) createToken(ctx context.Context, in *WithNewToken) (*created[rest.Issued], error) {
	r := requestOf(ctx)
	issued, err := s.Access.CreateToken(ctx, r.identity, in.wanted())
	if err != nil {
		return nil, explainAccess(err)
	}
	r.object = objectName{kind: "Token", name: issued.Name, uid: issued.ID}
	return &created[rest.Issued]{Body: toIssued(issued)}, nil
}

// OfCredential is in the path of a session or token.
type OfCredential struct {
	Credential string `path:"credential" maxLength:"64"`
}

func (s *Server) revokeCredential(ctx context.Context, in *OfCredential) (*struct{}, error) {
	r := requestOf(ctx)
	r.object = objectName{kind: "Token", uid: in.Credential}
	if err := s.Access.Revoke(ctx, r.identity.Name, in.Credential); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

func toCredential(c access.CredentialInfo) rest.Credential {
	made := rest.Credential{
		Kind: string(c.Kind), ID: c.ID, Name: c.Name, Created: c.Created, Expires: c.Expires, LastUsed: someTime(c.LastUsed),
	}
	if c.Scope != nil {
		made.Scope = &rest.Scope{Organization: c.Scope.Organization, Role: c.Scope.Role}
	}
	return made
}

func toIssued(i access.Issued) rest.Issued {
	return rest.Issued{Credential: toCredential(i.CredentialInfo), Token: i.Token.Reveal()}
}

// someTime is nil for a time that never was.
func someTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
