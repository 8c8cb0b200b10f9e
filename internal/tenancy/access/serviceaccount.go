package access

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

// ServiceAccountInfo is an account of programs in one organization.
type ServiceAccountInfo struct {
	// Name is "sa:ORGANIZATION:ACCOUNT".
	Name string
	// Scope is the organization and what the account may there.
	Scope       Scope
	DisplayName string
	Disabled    bool
	Created     time.Time
}

// maxServiceAccounts of one organization.
const maxServiceAccounts = 500

// ServiceAccountName is the name under which a service account makes requests.
func ServiceAccountName(organization, name string) string { return "sa:" + organization + ":" + name }

// ServiceAccounts are the accounts of programs, each in one organization.
type ServiceAccounts struct {
	*store
	credentials *Credentials
}

// Create makes an account for programs. Errors: *invalid.Error, ErrExists, ErrTooMany.
func (s *ServiceAccounts) Create(ctx context.Context, name, displayName string, scope Scope) (ServiceAccountInfo, error) {
	if err := checkLabel("name", name); err != nil {
		return ServiceAccountInfo{}, err
	}
	if err := scope.check(); err != nil {
		return ServiceAccountInfo{}, err
	}
	if err := checkText("displayName", displayName, maxDisplayName); err != nil {
		return ServiceAccountInfo{}, err
	}
	a := account{
		name: ServiceAccountName(scope.Organization, name), kind: ServiceAccount, displayName: displayName,
		created: s.now(), organization: scope.Organization, role: scope.Role,
	}
	err := s.db.Do(ctx, "access/organization/"+scope.Organization, func(tx *sql.Tx) error {
		var held int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM access_accounts WHERE organization = $1`,
			scope.Organization).Scan(&held); err != nil {
			return err
		}
		if held >= maxServiceAccounts {
			return fmt.Errorf("%s has %d service accounts: %w", scope.Organization, held, ErrTooMany)
		}
		return insertAccount(ctx, tx, a)
	})
	if err != nil {
		return ServiceAccountInfo{}, fmt.Errorf("create a service account: %w", err)
	}
	return a.serviceAccount(), nil
}

// Get returns an account. Errors: ErrNotFound.
func (s *ServiceAccounts) Get(ctx context.Context, organization, name string) (ServiceAccountInfo, error) {
	a, err := findAccount(ctx, s.db, ServiceAccount, ServiceAccountName(organization, name))
	return a.serviceAccount(), err
}

// List returns the accounts of an organization by name.
func (s *ServiceAccounts) List(ctx context.Context, organization string, page Page) (List[ServiceAccountInfo], error) {
	accounts, err := s.listAccounts(ctx, page, `a.kind = $3 AND a.organization = $4`, ServiceAccount, organization)
	if err != nil {
		return List[ServiceAccountInfo]{}, fmt.Errorf("list service accounts: %w", err)
	}
	out := List[ServiceAccountInfo]{Next: accounts.Next}
	for _, a := range accounts.Items {
		out.Items = append(out.Items, a.serviceAccount())
	}
	return out, nil
}

// SetRole changes what an account may; its tokens follow at once. Errors: *invalid.Error, ErrNotFound.
func (s *ServiceAccounts) SetRole(ctx context.Context, organization, name, role string) error {
	if err := checkRole(role); err != nil {
		return err
	}
	return changed(s.db.ExecContext(ctx, `UPDATE access_accounts SET role = $3 WHERE name = $1 AND kind = $2`,
		ServiceAccountName(organization, name), ServiceAccount, role))
}

// Disable ends all its tokens for good, and lets it have no others until Enable. Errors: ErrNotFound.
func (s *ServiceAccounts) Disable(ctx context.Context, organization, name string) error {
	return s.setDisabled(ctx, ServiceAccount, ServiceAccountName(organization, name), true)
}

// Enable lets a disabled account have tokens again. Errors: ErrNotFound.
func (s *ServiceAccounts) Enable(ctx context.Context, organization, name string) error {
	return s.setDisabled(ctx, ServiceAccount, ServiceAccountName(organization, name), false)
}

// Delete forgets an account with its tokens. Errors: ErrNotFound.
func (s *ServiceAccounts) Delete(ctx context.Context, organization, name string) error {
	return s.deleteAccount(ctx, ServiceAccount, ServiceAccountName(organization, name))
}

// CreateToken makes a token of a service account. It has the account's scope; wanted names none, and the token that makes it
// where one does. Errors: *invalid.Error, ErrNotFound (also when the account is disabled), ErrTooMany; with wanted.By also
// ErrNeedsMint, ErrNeedsSession, ErrUnauthenticated.
func (s *ServiceAccounts) CreateToken(ctx context.Context, organization, name string, wanted NewToken) (Issued, error) {
	if wanted.Scope != nil {
		return Issued{}, invalid.Want("scope", "it is that of the service account", "none")
	}
	if err := s.credentials.checkToken(wanted); err != nil {
		return Issued{}, err
	}
	var out Issued
	err := s.db.Do(ctx, "", func(tx *sql.Tx) error {
		a, err := findAccount(ctx, tx, ServiceAccount, ServiceAccountName(organization, name))
		if err == nil && a.disabled {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		out, err = s.credentials.issue(ctx, tx, token.ServiceAccount, a, wanted, 0)
		return err
	})
	if err != nil {
		return Issued{}, fmt.Errorf("create a token of a service account: %w", err)
	}
	return out, nil
}

// ForgetOrganization removes the service accounts of an organization that is deleted, and the tokens of users that were
// narrowed to it: they must not be good for another one of the same name.
func (s *ServiceAccounts) ForgetOrganization(ctx context.Context, organization string) error {
	if organization == "" {
		return nil // tokens without a scope have an empty one
	}
	return s.db.Do(ctx, "access/organization/"+organization, func(tx *sql.Tx) error {
		for _, statement := range []string{
			`DELETE FROM access_accounts WHERE organization = $1`,
			`DELETE FROM access_credentials WHERE organization = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, organization); err != nil {
				return fmt.Errorf("forget the organization %s: %w", organization, err)
			}
		}
		return nil
	})
}

func (a account) serviceAccount() ServiceAccountInfo {
	return ServiceAccountInfo{
		Name: a.name, Scope: Scope{a.organization, a.role}, DisplayName: a.displayName, Disabled: a.disabled, Created: a.created,
	}
}
