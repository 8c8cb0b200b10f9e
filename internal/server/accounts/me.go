package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// me is about the caller.
type me struct {
	passwords   *access.Passwords
	credentials *access.Credentials
}

func (h *me) register(api huma.API) {
	huma.Register(api, chain.Operation(http.MethodGet, "/me", "getMe", "Show the caller and their roles", "Me"), h.getMe)
	huma.Register(api, chain.Operation(http.MethodPost, "/me/password", "changePassword", "Change the caller's password", "Me", chain.OfAccount, chain.Recorded("change-password")), h.changePassword)
	huma.Register(api, chain.Operation(http.MethodGet, "/me/credentials", "listCredentials", "List the caller's sessions and tokens", "Me", chain.OfAccount), h.listCredentials)
	o := chain.Operation(http.MethodPost, "/me/tokens", "createToken", "Create an API token of the caller", "Me", chain.OfAccount, chain.Recorded("create-token"), chain.Keyed(chain.Named))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.createToken)
	huma.Register(api, chain.Operation(http.MethodDelete, "/me/credentials/{credential}", "revokeCredential", "Revoke a session or token of the caller", "Me", chain.OfAccount, chain.Recorded("revoke")), h.revokeCredential)
}

func (h *me) getMe(ctx context.Context, _ *struct{}) (*chain.Answer[rest.Me], error) {
	r := chain.Of(ctx)
	found := rest.Me{
		Name: r.Identity.Name, DisplayName: r.Identity.DisplayName, Email: r.Identity.Email, Kind: string(r.Identity.Kind),
		Admin: r.Caller.Admin, Roles: map[string]string{}, Groups: r.Identity.Groups,
	}
	for organization, role := range r.Caller.Roles {
		found.Roles[organization] = string(role)
	}
	credential := r.Identity.Credential
	found.Credential.Kind, found.Credential.ID, found.Credential.Expires = string(credential.Kind), credential.ID, credential.Expires
	return &chain.Answer[rest.Me]{Body: found}, nil
}

type changePasswordInput struct{ Body rest.ChangePassword }

func (h *me) changePassword(ctx context.Context, in *changePasswordInput) (*struct{}, error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "User", Name: r.Identity.Name}
	return nil, problem.ExplainAccess(h.passwords.Change(ctx, r.Identity.Name, in.Body.Old, in.Body.Password, r.From))
}

// Paged is for lists of what is kept in SQL.
type Paged struct {
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"256" doc:"Where to go on: the cursor of the page before."`
}

func (p Paged) page() access.Page { return access.Page{Limit: p.Limit, After: p.Cursor} }

// listCredentials shows a user who has signed in all sessions and tokens of the account, and a token itself alone: it is in
// the hands of a program, which is to learn nothing of the others.
func (h *me) listCredentials(ctx context.Context, in *Paged) (*chain.Answer[rest.Page[rest.Credential]], error) {
	by := chain.Of(ctx).Identity
	if by.Credential.Kind == access.Session {
		list, err := h.credentials.List(ctx, by.Name, "", in.page())
		return answerPage(list, err, toCredential)
	}
	own, err := h.credentials.Get(ctx, by.Name, by.Credential.ID)
	return answerPage(access.List[access.CredentialInfo]{Items: []access.CredentialInfo{own}}, err, toCredential)
}

// WithNewToken has a token to be made in its body.
type WithNewToken struct{ Body rest.NewToken }

func (in WithNewToken) wanted(ctx context.Context) access.NewToken {
	wanted := access.NewToken{Name: in.Body.Name, Expires: in.Body.Expires, Mint: in.Body.Mint, By: chain.Minter(ctx)}
	if wanted.Mint {
		chain.Of(ctx).Detail = map[string]string{"mint": "true"}
	}
	if scope := in.Body.Scope; scope != nil {
		wanted.Scope = &access.Scope{Organization: scope.Organization, Role: scope.Role}
	}
	return wanted
}

func (h *me) createToken(ctx context.Context, in *WithNewToken) (*chain.Answer[rest.Issued], error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "Token", Name: in.Body.Name}
	return chain.OnceSecret(ctx, func() (*chain.Answer[rest.Issued], error) {
		issued, err := h.credentials.CreateToken(ctx, r.Identity, in.wanted(ctx))
		r.Object.UID = issued.ID
		return answer(issued, err, toIssued)
	}, tokenMade)
}

// tokenMade names a token to a caller who asks for it again, and says what to do without its secret.
func tokenMade(issued *chain.Answer[rest.Issued]) string {
	return "the token " + issued.Body.ID + ", whose secret was in its answer and is not kept; if you do not have it, revoke that token and " +
		"create another one with a new key"
}

// OfCredential is in the path of a session or token.
type OfCredential struct {
	Credential string `path:"credential" maxLength:"64"`
}

func (h *me) revokeCredential(ctx context.Context, in *OfCredential) (*struct{}, error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "Token", UID: in.Credential}
	// A token ends itself and no other one.
	if own := r.Identity.Credential; own.Kind != access.Session && own.ID != in.Credential {
		return nil, problem.ExplainAccess(access.ErrNotFound)
	}
	return nil, problem.ExplainAccess(h.credentials.Revoke(ctx, r.Identity.Name, in.Credential))
}

func toCredential(c access.CredentialInfo) rest.Credential {
	made := rest.Credential{
		Kind: string(c.Kind), ID: c.ID, Name: c.Name, Created: c.Created, Expires: c.Expires, LastUsed: someTime(c.LastUsed),
		Mint: c.Mint, MintedBy: c.MintedBy,
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
