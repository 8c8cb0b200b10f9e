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

// serviceAccounts are the programs of organizations.
type serviceAccounts struct {
	accounts    *access.ServiceAccounts
	credentials *access.Credentials
	rights      *rights.Rights
}

func (h *serviceAccounts) register(api huma.API) {
	const at, tag = "/organizations/{organization}/serviceaccounts", "ServiceAccounts"
	huma.Register(api, chain.Operation(http.MethodGet, at, "listServiceAccounts", "List service accounts", tag), h.listServiceAccounts)
	o := chain.Operation(http.MethodPost, at, "createServiceAccount", "Create a service account", tag, chain.Recorded("create"), chain.Keyed(chain.Replayed))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.createServiceAccount)
	const one = at + "/{serviceAccount}"
	huma.Register(api, chain.Operation(http.MethodGet, one, "getServiceAccount", "Get a service account", tag), h.getServiceAccount)
	huma.Register(api, chain.Operation(http.MethodPatch, one, "updateServiceAccount", "Change, disable or enable a service account", tag, chain.Recorded("update")), h.updateServiceAccount)
	huma.Register(api, chain.Operation(http.MethodDelete, one, "deleteServiceAccount", "Delete a service account and its tokens", tag, chain.Recorded("delete")), h.deleteServiceAccount)
	huma.Register(api, chain.Operation(http.MethodGet, one+"/tokens", "listServiceAccountTokens", "List the tokens of a service account", tag), h.listServiceAccountTokens)
	o = chain.Operation(http.MethodPost, one+"/tokens", "createServiceAccountToken", "Create a token of a service account", tag, chain.Recorded("create-token"), chain.Keyed(chain.Named))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.createServiceAccountToken)
	huma.Register(api, chain.Operation(http.MethodDelete, one+"/tokens/{credential}", "revokeServiceAccountToken", "Revoke a token of a service account", tag, chain.Recorded("revoke")), h.revokeServiceAccountToken)
}

func (h *serviceAccounts) mayAccounts(ctx context.Context, in chain.InOrganization, verb, name string) error {
	return h.rights.RequireIn(ctx, in.Organization, verb, role.ServiceAccounts, name)
}

// mayMint is mayAccounts for what a token that mints may do, too.
func (h *serviceAccounts) mayMint(ctx context.Context, in chain.InOrganization, verb, name string) error {
	if err := h.mayAccounts(ctx, in, verb, name); err != nil {
		return err
	}
	return chain.RequireMint(ctx)
}

// mayRaise is mayAccounts for what lets a program do more, or make others, for as long as it has tokens.
func (h *serviceAccounts) mayRaise(ctx context.Context, in chain.InOrganization, verb, name string) error {
	if err := h.mayAccounts(ctx, in, verb, name); err != nil {
		return err
	}
	return chain.RequireFresh(ctx)
}

type serviceAccountsInput struct {
	chain.InOrganization
	Paged
}

func (h *serviceAccounts) listServiceAccounts(ctx context.Context, in *serviceAccountsInput) (*chain.Answer[rest.Page[rest.ServiceAccount]], error) {
	if err := h.mayAccounts(ctx, in.InOrganization, "list", ""); err != nil {
		return nil, err
	}
	list, err := h.accounts.List(ctx, in.Organization, in.page())
	return answerPage(list, err, toServiceAccount)
}

type newServiceAccountInput struct {
	chain.InOrganization
	Body rest.NewServiceAccount
}

func (h *serviceAccounts) createServiceAccount(ctx context.Context, in *newServiceAccountInput) (*chain.Answer[rest.ServiceAccount], error) {
	if err := h.mayMint(ctx, in.InOrganization, "create", in.Body.Name); err != nil {
		return nil, err
	}
	return chain.Once(ctx, func() (*chain.Answer[rest.ServiceAccount], error) {
		made, err := h.accounts.Create(ctx, in.Body.Name, in.Body.DisplayName, access.Scope{Organization: in.Organization, Role: in.Body.Role})
		return answer(made, err, toServiceAccount)
	})
}

// OfServiceAccount is in the path of what belongs to a service account.
type OfServiceAccount struct {
	chain.InOrganization
	ServiceAccount string `path:"serviceAccount" maxLength:"40"`
}

func (h *serviceAccounts) getServiceAccount(ctx context.Context, in *OfServiceAccount) (*chain.Answer[rest.ServiceAccount], error) {
	if err := h.mayAccounts(ctx, in.InOrganization, "get", in.ServiceAccount); err != nil {
		return nil, err
	}
	return h.answerServiceAccount(ctx, in)
}

func (h *serviceAccounts) answerServiceAccount(ctx context.Context, in *OfServiceAccount) (*chain.Answer[rest.ServiceAccount], error) {
	found, err := h.accounts.Get(ctx, in.Organization, in.ServiceAccount)
	return answer(found, err, toServiceAccount)
}

type serviceAccountChangeInput struct {
	OfServiceAccount
	Body rest.ServiceAccountChange
}

func (h *serviceAccounts) updateServiceAccount(ctx context.Context, in *serviceAccountChangeInput) (*chain.Answer[rest.ServiceAccount], error) {
	may := h.mayAccounts
	switch to := in.Body; {
	case to.Role != nil:
		may = h.mayRaise
	case to.Disabled != nil && !*to.Disabled: // its tokens have ended
		may = h.mayMint
	}
	if err := may(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	var acts []func(context.Context, string, string) error
	if to := in.Body.Role; to != nil {
		acts = append(acts, func(ctx context.Context, organization, name string) error {
			return h.accounts.SetRole(ctx, organization, name, *to)
		})
	}
	if to := in.Body.Disabled; to != nil && *to {
		acts = append(acts, h.accounts.Disable)
	} else if to != nil {
		acts = append(acts, h.accounts.Enable)
	}
	for _, act := range acts {
		if err := act(ctx, in.Organization, in.ServiceAccount); err != nil {
			return nil, problem.ExplainAccess(err)
		}
	}
	return h.answerServiceAccount(ctx, &in.OfServiceAccount)
}

func (h *serviceAccounts) deleteServiceAccount(ctx context.Context, in *OfServiceAccount) (*struct{}, error) {
	if err := h.mayAccounts(ctx, in.InOrganization, "delete", in.ServiceAccount); err != nil {
		return nil, err
	}
	return nil, problem.ExplainAccess(h.accounts.Delete(ctx, in.Organization, in.ServiceAccount))
}

type serviceAccountTokensInput struct {
	OfServiceAccount
	Paged
}

func (h *serviceAccounts) listServiceAccountTokens(ctx context.Context, in *serviceAccountTokensInput) (*chain.Answer[rest.Page[rest.Credential]], error) {
	if err := h.mayAccounts(ctx, in.InOrganization, "get", in.ServiceAccount); err != nil {
		return nil, err
	}
	list, err := h.credentials.List(ctx, access.ServiceAccountName(in.Organization, in.ServiceAccount), access.Token, in.page())
	return answerPage(list, err, toCredential)
}

type newServiceAccountTokenInput struct {
	OfServiceAccount
	WithNewToken
}

func (h *serviceAccounts) createServiceAccountToken(ctx context.Context, in *newServiceAccountTokenInput) (*chain.Answer[rest.Issued], error) {
	may := h.mayMint
	if in.Body.Mint {
		may = h.mayRaise
	}
	if err := may(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	return chain.OnceSecret(ctx, func() (*chain.Answer[rest.Issued], error) {
		issued, err := h.accounts.CreateToken(ctx, in.Organization, in.ServiceAccount, in.wanted(ctx))
		return answer(issued, err, toIssued)
	}, tokenMade)
}

type serviceAccountTokenInput struct {
	OfServiceAccount
	OfCredential
}

func (h *serviceAccounts) revokeServiceAccountToken(ctx context.Context, in *serviceAccountTokenInput) (*struct{}, error) {
	if err := h.mayAccounts(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	return nil, problem.ExplainAccess(h.credentials.Revoke(ctx, access.ServiceAccountName(in.Organization, in.ServiceAccount), in.Credential))
}

func toServiceAccount(a access.ServiceAccountInfo) rest.ServiceAccount {
	return rest.ServiceAccount{
		Name: a.Name[strings.LastIndexByte(a.Name, ':')+1:], DisplayName: a.DisplayName, Role: a.Scope.Role,
		Disabled: a.Disabled, CreatedAt: a.Created,
	}
}
