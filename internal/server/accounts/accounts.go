// Package accounts serves what the REST API has about who signs in and who belongs where: signing in, in one step or in
// several, one's own account, users, service accounts and the members of organizations. What is kept of them is package
// access's; who may is the API server's to say. Package pages signs users in by the same [Flows].
package accounts

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// Config is what the operations stand on.
type Config struct {
	Access    *access.Service
	Providers identityprovider.Source
	// Callers makes each call as the caller that its context names.
	Callers client.Client
	Rights  *rights.Rights
}

// Register adds the operations to an API.
func Register(api huma.API, c Config) {
	flows := NewFlows(c.Access)
	(&signIn{c.Access, c.Providers, flows}).register(api)
	(&devices{c.Access, flows}).register(api)
	(&me{c.Access}).register(api)
	(&users{c.Access, c.Rights}).register(api)
	(&serviceAccounts{c.Access, c.Rights}).register(api)
	(&members{c.Callers, c.Rights}).register(api)
}

// Flows are the steps of signing in that operations and pages have in common, with what the audit log has of them.
type Flows struct{ access *access.Service }

// NewFlows returns the steps.
func NewFlows(a *access.Service) *Flows { return &Flows{a} }

// SignIn signs in a local user. Errors: those of access.SignIn.
func (f *Flows) SignIn(ctx context.Context, r *chain.Request, name, password string) (access.Issued, error) {
	r.Object = chain.Object{Kind: "User", Name: name}
	issued, err := f.access.SignIn(ctx, name, password, r.From)
	if err != nil {
		// Users type passwords in place of their names: a name that no account has is not written down.
		if _, unknown := f.access.GetUser(ctx, name); unknown != nil {
			r.Object.Name = ""
		}
	}
	return issued, err
}

// Device finds a device by what a user typed. Codes are short, so that wrong ones are written down; a user who types the
// right one has not done anything yet.
func (f *Flows) Device(ctx context.Context, r *chain.Request, userCode string) (access.DeviceRequest, error) {
	r.Object.Kind = "Device"
	found, err := f.access.GetDevice(ctx, r.Identity, userCode, r.From)
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
	if err := f.access.AnswerDevice(ctx, r.Identity, userCode, approve, r.From); err != nil {
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
