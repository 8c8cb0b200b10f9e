// Package accounts serves the operations of the REST API on accounts and memberships: signing in, in one step or in
// several, one's own account, users, service accounts and the members of organizations. What is kept of them is package
// access's; who may is the API server's to say. Package pages signs users in by the same [Flows].
package accounts

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// Config is what the operations stand on.
type Config struct {
	// Access is all of it: each handler takes the subjects that it serves.
	Access    *access.Service
	Flows     *Flows
	Providers identityprovider.Source
	// Callers makes each call as the caller that its context names.
	Callers client.Client
	Rights  *rights.Rights
}

// Register adds the operations to an API.
func Register(api huma.API, c Config) {
	a := c.Access
	(&signIn{a.Setup, a.Passwords, a.Credentials, c.Providers, c.Flows}).register(api)
	(&devices{a.Devices, a.Codes, c.Flows}).register(api)
	(&me{a.Passwords, a.Credentials}).register(api)
	m := &members{c.Callers, c.Rights}
	(&users{a.Users, a.Passwords, a.Credentials, m, c.Rights}).register(api)
	(&serviceAccounts{a.ServiceAccounts, a.Credentials, c.Rights}).register(api)
	m.register(api)
}

// answer is what an act on accounts ended with, as the API has it.
func answer[A, B any](made A, err error, convert func(A) B) (*chain.Answer[B], error) {
	if err != nil {
		return nil, problem.ExplainAccess(err)
	}
	return &chain.Answer[B]{Body: convert(made)}, nil
}

// answerPage is answer for a part of a list.
func answerPage[A, B any](list access.List[A], err error, convert func(A) B) (*chain.Answer[rest.Page[B]], error) {
	return answer(list, err, func(list access.List[A]) rest.Page[B] {
		page := rest.Page[B]{Items: make([]B, 0, len(list.Items)), Cursor: list.Next}
		for _, item := range list.Items {
			page.Items = append(page.Items, convert(item))
		}
		return page
	})
}

// Flows are the steps of signing in that operations and pages have in common, with what the audit log has of them.
type Flows struct {
	Passwords interface {
		SignIn(ctx context.Context, name, text string, from access.Origin) (access.Issued, error)
	}
	Users interface {
		Get(ctx context.Context, name string) (access.UserInfo, error)
	}
	Devices interface {
		Get(ctx context.Context, by access.Identity, userCode string, from access.Origin) (access.DeviceRequest, error)
		Answer(ctx context.Context, by access.Identity, userCode string, approve bool, from access.Origin) error
	}
}

// SignIn signs in a local user. Errors: those of access.Passwords.SignIn.
func (f *Flows) SignIn(ctx context.Context, r *chain.Request, name, password string) (access.Issued, error) {
	r.Object = chain.Object{Kind: "User", Name: name}
	issued, err := f.Passwords.SignIn(ctx, name, password, r.From)
	if err != nil {
		// Users type passwords in place of their names: a name that no account has is not written down.
		if _, unknown := f.Users.Get(ctx, name); unknown != nil {
			r.Object.Name = ""
		}
	}
	return issued, err
}

// Device finds a device by what a user typed. Codes are short, so that wrong ones are written down; a user who types the
// right one has not done anything yet.
func (f *Flows) Device(ctx context.Context, r *chain.Request, userCode string) (access.DeviceRequest, error) {
	r.Object.Kind = "Device"
	found, err := f.Devices.Get(ctx, r.Identity, userCode, r.From)
	if err != nil {
		return found, problem.ExplainAccess(err)
	}
	r.Unremarkable = true
	return found, nil
}

// Answer approves or denies a device for its user.
func (f *Flows) Answer(ctx context.Context, r *chain.Request, userCode string, approve bool) error {
	r.Object.Kind = "Device"
	r.Detail = map[string]string{"answer": AnswerWord(approve)}
	if err := f.Devices.Answer(ctx, r.Identity, userCode, approve, r.From); err != nil {
		return problem.ExplainAccess(err)
	}
	return nil
}

// AnswerWord is an answer in the audit log.
func AnswerWord(approve bool) string {
	if approve {
		return "approve"
	}
	return "deny"
}
