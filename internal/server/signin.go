package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// explainAccess makes a problem of what identities ended with.
func explainAccess(err error) error {
	if locked, ok := errors.AsType[*access.LockedError](err); ok {
		p := newProblem(http.StatusTooManyRequests, rest.CodeTooMany, locked.Error())
		seconds := int(time.Until(locked.Until).Seconds()) + 1
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {strconv.Itoa(max(seconds, 1))}})
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return newProblem(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: "/" + bad.Field, Detail: bad.Detail()})
	}
	known := []struct {
		err    error
		status int
		code   string
	}{
		{access.ErrUnauthenticated, http.StatusUnauthorized, rest.CodeUnauthenticated},
		{access.ErrNotFound, http.StatusNotFound, rest.CodeNotFound},
		{access.ErrExists, http.StatusConflict, rest.CodeExists},
		{access.ErrSpent, http.StatusUnauthorized, rest.CodeUnauthenticated},
		{access.ErrSetUp, http.StatusConflict, rest.CodeExists},
		{access.ErrLastAdmin, http.StatusConflict, rest.CodeConflict},
		{access.ErrNeedsSession, http.StatusForbidden, rest.CodeForbidden},
		{access.ErrProviderUser, http.StatusConflict, rest.CodeConflict},
		{access.ErrTooMany, http.StatusTooManyRequests, rest.CodeTooMany},
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return newProblem(k.status, k.code, k.err.Error())
		}
	}
	return explain(err)
}

func (s *Server) registerSignIn() {
	o := operation(http.MethodPost, "/setup", "setUp", "Make the first administrator with what kqueen up printed, or another with what kqueen user recover printed", "Sign-in", public, recorded("set-up"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.setUp)
	huma.Register(s.api, operation(http.MethodPost, "/signin", "signIn", "Sign in with name and password", "Sign-in", public, recorded("sign-in")), s.signIn)
	huma.Register(s.api, operation(http.MethodPost, "/password", "choosePassword", "Choose a password, with a one-time token", "Sign-in", public, recorded("choose-password")), s.choosePassword)
	huma.Register(s.api, operation(http.MethodPost, "/signout", "signOut", "End this session", "Sign-in", ofAccount, recorded("sign-out")), s.signOut)
}

type setUpInput struct {
	Body rest.SetUp
}

func (s *Server) setUp(ctx context.Context, in *setUpInput) (*created[rest.User], error) {
	r := requestOf(ctx)
	r.object = objectName{kind: "User", name: in.Body.Name}
	user, err := s.Access.SetUp(ctx, in.Body.Token, access.NewUser{
		Name: in.Body.Name, DisplayName: in.Body.DisplayName, Email: in.Body.Email, Password: in.Body.Password,
	})
	if err != nil {
		return nil, explainAccess(err)
	}
	return &created[rest.User]{Body: toUser(user)}, nil
}

type signInInput struct {
	Body rest.SignIn
}

func (s *Server) signIn(ctx context.Context, in *signInInput) (*ok[rest.Issued], error) {
	issued, err := s.enter(ctx, requestOf(ctx), in.Body.Name, in.Body.Password)
	if errors.Is(err, access.ErrUnauthenticated) {
		return nil, newProblem(http.StatusUnauthorized, rest.CodeUnauthenticated, "the name or the password is not right")
	}
	if err != nil {
		return nil, explainAccess(err)
	}
	return &ok[rest.Issued]{Body: toIssued(issued)}, nil
}

// enter signs in a local user. Errors: those of access.SignIn.
func (s *Server) enter(ctx context.Context, r *request, name, password string) (access.Issued, error) {
	r.object = objectName{kind: "User", name: name}
	issued, err := s.Access.SignIn(ctx, name, password, r.from)
	if err != nil {
		// People type passwords in place of their names: what names nobody is not written down.
		if _, unknown := s.Access.GetUser(ctx, name); unknown != nil {
			r.object.name = ""
		}
	}
	return issued, err
}

type choosePasswordInput struct {
	Body rest.ChoosePassword
}

func (s *Server) choosePassword(ctx context.Context, in *choosePasswordInput) (*struct{}, error) {
	if err := s.Access.ChoosePassword(ctx, in.Body.Token, in.Body.Password); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

func (s *Server) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	r := requestOf(ctx)
	if err := s.Access.Revoke(ctx, r.identity.Name, r.identity.Credential.ID); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

// ok and created are answers with a body.
type ok[T any] struct{ Body T }

type created[T any] struct{ Body T }
