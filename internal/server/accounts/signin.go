package accounts

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// signIn is for callers who are to become known.
type signIn struct {
	setup       *access.Setup
	passwords   *access.Passwords
	credentials *access.Credentials
	providers   identityprovider.Source
	flows       *Flows
}

func (h *signIn) register(api huma.API) {
	o := chain.Operation(http.MethodPost, "/setup", "setUp", "Create the first administrator with the token that kqueen up printed, or another with that of kqueen user recover", "Sign-in", chain.Public, chain.Recorded("set-up"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.setUp)
	huma.Register(api, chain.Operation(http.MethodPost, "/signin", "signIn", "Sign in with name and password", "Sign-in", chain.Public, chain.Recorded("sign-in")), h.signIn)
	huma.Register(api, chain.Operation(http.MethodPost, "/password", "choosePassword", "Choose a password, with a one-time token", "Sign-in", chain.Public, chain.Recorded("choose-password")), h.choosePassword)
	huma.Register(api, chain.Operation(http.MethodPost, "/signout", "signOut", "End this session", "Sign-in", chain.OfAccount, chain.Recorded("sign-out")), h.signOut)
	huma.Register(api, chain.Operation(http.MethodGet, "/providers", "listProviders", "List the identity providers by which users sign in", "Sign-in", chain.Public), h.listProviders)
}

type setUpInput struct {
	Body rest.SetUp
}

func (h *signIn) setUp(ctx context.Context, in *setUpInput) (*chain.Answer[rest.User], error) {
	r := chain.Of(ctx)
	r.Object = chain.Object{Kind: "User", Name: in.Body.Name}
	user, err := h.setup.MakeAdmin(ctx, in.Body.Token, access.NewUser{
		Name: in.Body.Name, DisplayName: in.Body.DisplayName, Email: in.Body.Email, Password: in.Body.Password,
	})
	return answer(user, err, toUser)
}

type signInInput struct {
	Body rest.SignIn
}

func (h *signIn) signIn(ctx context.Context, in *signInInput) (*chain.Answer[rest.Issued], error) {
	issued, err := h.flows.SignIn(ctx, chain.Of(ctx), in.Body.Name, in.Body.Password)
	if errors.Is(err, access.ErrUnauthenticated) {
		return nil, problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated, "the name or the password is not right")
	}
	return answer(issued, err, toIssued)
}

type choosePasswordInput struct {
	Body rest.ChoosePassword
}

func (h *signIn) choosePassword(ctx context.Context, in *choosePasswordInput) (*struct{}, error) {
	return nil, problem.ExplainAccess(h.passwords.Choose(ctx, in.Body.Token, in.Body.Password))
}

func (h *signIn) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	r := chain.Of(ctx)
	return nil, problem.ExplainAccess(h.credentials.Revoke(ctx, r.Identity.Name, r.Identity.Credential.ID))
}

func (h *signIn) listProviders(ctx context.Context, _ *struct{}) (*chain.Answer[rest.Page[rest.Provider]], error) {
	all, err := h.providers.List(ctx)
	if err != nil {
		return nil, problem.Explain(err)
	}
	page := rest.Page[rest.Provider]{Items: make([]rest.Provider, 0, len(all))}
	for i := range all {
		page.Items = append(page.Items, rest.Provider{Name: all[i].Name, DisplayName: all[i].Spec.DisplayName})
	}
	return &chain.Answer[rest.Page[rest.Provider]]{Body: page}, nil
}
