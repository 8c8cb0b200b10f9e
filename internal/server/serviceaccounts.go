package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func (s *Server) registerServiceAccounts() {
	const at, tag = "/organizations/{organization}/serviceaccounts", "ServiceAccounts"
	huma.Register(s.api, operation(http.MethodGet, at, "listServiceAccounts", "List service accounts", tag), s.listServiceAccounts)
	o := operation(http.MethodPost, at, "createServiceAccount", "Make a service account", tag, recorded("create"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.createServiceAccount)
	const one = at + "/{serviceAccount}"
	huma.Register(s.api, operation(http.MethodGet, one, "getServiceAccount", "Get a service account", tag), s.getServiceAccount)
	huma.Register(s.api, operation(http.MethodPatch, one, "updateServiceAccount", "Change, disable or enable a service account", tag, recorded("update")), s.updateServiceAccount)
	huma.Register(s.api, operation(http.MethodDelete, one, "deleteServiceAccount", "Delete a service account and its tokens", tag, recorded("delete")), s.deleteServiceAccount)
	huma.Register(s.api, operation(http.MethodGet, one+"/tokens", "listServiceAccountTokens", "List the tokens of a service account", tag), s.listServiceAccountTokens)
	o = operation(http.MethodPost, one+"/tokens", "createServiceAccountToken", "Make a token of a service account", tag, recorded("create-token"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.createServiceAccountToken)
	huma.Register(s.api, operation(http.MethodDelete, one+"/tokens/{credential}", "revokeServiceAccountToken", "End a token of a service account", tag, recorded("revoke")), s.revokeServiceAccountToken)
}

// InOrganization is in the path of what belongs to an organization.
type InOrganization struct {
	Organization string `path:"organization" maxLength:"40"`
}

// mayIn asks whether the caller may in an organization; to whoever does not belong there, there is none.
func (s *Server) mayIn(ctx context.Context, organization, verb, resource, name string) error {
	r := requestOf(ctx)
	if _, err := s.organization(ctx, organization); err != nil {
		return err
	}
	r.object = objectName{organization: organization, kind: resource, name: name}
	return s.mayHere(ctx, verb, resource, "", v1alpha1.NamespacePrefix+organization, name)
}

func (s *Server) mayAccounts(ctx context.Context, in InOrganization, verb, name string) error {
	return s.mayIn(ctx, in.Organization, verb, role.ServiceAccounts, name)
}

type serviceAccountsInput struct {
	InOrganization
	Paged
}

func (s *Server) listServiceAccounts(ctx context.Context, in *serviceAccountsInput) (*ok[rest.Page[rest.ServiceAccount]], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "list", ""); err != nil {
		return nil, err
	}
	list, err := s.Access.ListServiceAccounts(ctx, in.Organization, in.page())
	if err != nil {
		return nil, explainAccess(err)
	}
	return toPage(list, toServiceAccount), nil
}

type newServiceAccountInput struct {
	InOrganization
	Body rest.NewServiceAccount
}

func (s *Server) createServiceAccount(ctx context.Context, in *newServiceAccountInput) (*created[rest.ServiceAccount], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "create", in.Body.Name); err != nil {
		return nil, err
	}
	made, err := s.Access.CreateServiceAccount(ctx, in.Body.Name, in.Body.DisplayName, access.Scope{Organization: in.Organization, Role: in.Body.Role})
	if err != nil {
		return nil, explainAccess(err)
	}
	return &created[rest.ServiceAccount]{Body: toServiceAccount(made)}, nil
}

// OfServiceAccount is in the path of what belongs to a service account.
type OfServiceAccount struct {
	InOrganization
	ServiceAccount string `path:"serviceAccount" maxLength:"40"`
}

func (s *Server) getServiceAccount(ctx context.Context, in *OfServiceAccount) (*ok[rest.ServiceAccount], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "get", in.ServiceAccount); err != nil {
		return nil, err
	}
	return s.answerServiceAccount(ctx, in)
}

func (s *Server) answerServiceAccount(ctx context.Context, in *OfServiceAccount) (*ok[rest.ServiceAccount], error) {
	found, err := s.Access.GetServiceAccount(ctx, in.Organization, in.ServiceAccount)
	if err != nil {
		return nil, explainAccess(err)
	}
	return &ok[rest.ServiceAccount]{Body: toServiceAccount(found)}, nil
}

type serviceAccountChangeInput struct {
	OfServiceAccount
	Body rest.ServiceAccountChange
}

func (s *Server) updateServiceAccount(ctx context.Context, in *serviceAccountChangeInput) (*ok[rest.ServiceAccount], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	var acts []func(context.Context, string, string) error
	if to := in.Body.Role; to != nil {
		acts = append(acts, func(ctx context.Context, organization, name string) error {
			return s.Access.SetServiceAccountRole(ctx, organization, name, *to)
		})
	}
	if to := in.Body.Disabled; to != nil && *to {
		acts = append(acts, s.Access.DisableServiceAccount)
	} else if to != nil {
		acts = append(acts, s.Access.EnableServiceAccount)
	}
	for _, act := range acts {
		if err := act(ctx, in.Organization, in.ServiceAccount); err != nil {
			return nil, explainAccess(err)
		}
	}
	return s.answerServiceAccount(ctx, &in.OfServiceAccount)
}

func (s *Server) deleteServiceAccount(ctx context.Context, in *OfServiceAccount) (*struct{}, error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "delete", in.ServiceAccount); err != nil {
		return nil, err
	}
	if err := s.Access.DeleteServiceAccount(ctx, in.Organization, in.ServiceAccount); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

type serviceAccountTokensInput struct {
	OfServiceAccount
	Paged
}

func (s *Server) listServiceAccountTokens(ctx context.Context, in *serviceAccountTokensInput) (*ok[rest.Page[rest.Credential]], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "get", in.ServiceAccount); err != nil {
		return nil, err
	}
	list, err := s.Access.ListCredentials(ctx, access.ServiceAccountName(in.Organization, in.ServiceAccount), access.Token, in.page())
	if err != nil {
		return nil, explainAccess(err)
	}
	return toPage(list, toCredential), nil
}

type newServiceAccountTokenInput struct {
	OfServiceAccount
	WithNewToken
}

func (s *Server) createServiceAccountToken(ctx context.Context, in *newServiceAccountTokenInput) (*created[rest.Issued], error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	issued, err := s.Access.CreateServiceAccountToken(ctx, in.Organization, in.ServiceAccount, in.wanted())
	if err != nil {
		return nil, explainAccess(err)
	}
	return &created[rest.Issued]{Body: toIssued(issued)}, nil
}

type serviceAccountTokenInput struct {
	OfServiceAccount
	OfCredential
}

func (s *Server) revokeServiceAccountToken(ctx context.Context, in *serviceAccountTokenInput) (*struct{}, error) {
	if err := s.mayAccounts(ctx, in.InOrganization, "update", in.ServiceAccount); err != nil {
		return nil, err
	}
	if err := s.Access.Revoke(ctx, access.ServiceAccountName(in.Organization, in.ServiceAccount), in.Credential); err != nil {
		return nil, explainAccess(err)
	}
	return nil, nil
}

func toServiceAccount(a access.ServiceAccountInfo) rest.ServiceAccount {
	return rest.ServiceAccount{
		Name: a.Name[strings.LastIndexByte(a.Name, ':')+1:], DisplayName: a.DisplayName, Role: a.Scope.Role,
		Disabled: a.Disabled, CreatedAt: a.Created,
	}
}
