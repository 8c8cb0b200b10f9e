package access

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"kqueen.io/kqueen/internal/platform/database"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access/password"
)

// UserInfo is a user, local or of an identity provider.
type UserInfo struct {
	Name, DisplayName, Email string
	// Provider is the name of the identity provider; empty for local users.
	Provider string
	// Admin is said by an administrator, GroupsAdmin by the groups that the provider named.
	Admin, GroupsAdmin bool
	Groups             []string
	Disabled           bool
	// HasPassword is false for users of providers, and for a local one who was not yet given or has not chosen one.
	HasPassword bool
	// SignedIn is the last time; zero is never.
	Created, SignedIn time.Time
}

// NewUser is a local user to be made.
type NewUser struct {
	Name, DisplayName, Email string
	Admin                    bool
	// Password may be empty: then the user chooses one with what ResetPassword gives.
	Password string
}

// CreateUser makes a local user. Errors: *invalid.Error, ErrExists.
func (s *Service) CreateUser(ctx context.Context, user NewUser) (UserInfo, error) {
	a, err := s.newAccount(ctx, user)
	if err != nil {
		return UserInfo{}, err
	}
	if err := insertAccount(ctx, s.DB, a); err != nil {
		return UserInfo{}, err
	}
	return a.user(), nil
}

// newAccount checks a new user and hashes the password; it writes nothing.
func (s *Service) newAccount(ctx context.Context, user NewUser) (account, error) {
	if err := checkUserName(user.Name); err != nil {
		return account{}, err
	}
	if err := checkPerson(user.DisplayName, user.Email); err != nil {
		return account{}, err
	}
	a := account{
		name: user.Name, kind: User, displayName: user.DisplayName, email: user.Email, admin: user.Admin,
		created: s.now(),
	}
	var err error
	if user.Password != "" {
		a.password, err = s.hash(ctx, a, user.Password)
	}
	return a, err
}

// hash makes the hash of a new password of an account when the rule takes it.
func (s *Service) hash(ctx context.Context, a account, text string) (string, error) {
	if problem := password.Rule(text, a.name, a.displayName, a.email); problem != "" {
		return "", invalid.New("password", "it %s", problem)
	}
	return s.passwords.Hash(ctx, text)
}

func checkPerson(displayName, email string) error {
	if err := checkText("displayName", displayName, maxDisplayName); err != nil {
		return err
	}
	return checkEmail(email)
}

// GetUser returns a user. Errors: ErrNotFound.
func (s *Service) GetUser(ctx context.Context, name string) (UserInfo, error) {
	a, err := findAccount(ctx, s.DB, User, name)
	return a.user(), err
}

// ListUsers returns users by name.
func (s *Service) ListUsers(ctx context.Context, page Page) (List[UserInfo], error) {
	accounts, err := s.listAccounts(ctx, page, `a.kind = $3`, User)
	if err != nil {
		return List[UserInfo]{}, fmt.Errorf("list users: %w", err)
	}
	out := List[UserInfo]{Next: accounts.Next}
	for _, a := range accounts.Items {
		out.Items = append(out.Items, a.user())
	}
	return out, nil
}

func (s *Service) listAccounts(ctx context.Context, page Page, where string, args ...any) (List[account], error) {
	rows, err := s.DB.QueryContext(ctx, `SELECT `+accountColumns+` FROM access_accounts a
		WHERE a.name > $1 AND `+where+` ORDER BY a.name LIMIT $2`, append([]any{page.After, page.limit() + 1}, args...)...)
	if err != nil {
		return List[account]{}, err
	}
	defer rows.Close()
	var out []account
	for rows.Next() {
		a, err := scanAccount(rows)
		if err != nil {
			return List[account]{}, err
		}
		out = append(out, a)
	}
	return cut(out, page, func(a account) string { return a.name }), rows.Err()
}

// UpdateUser sets what a local user is called and the address. Errors: *invalid.Error, ErrNotFound, ErrProviderUser.
func (s *Service) UpdateUser(ctx context.Context, name, displayName, email string) error {
	if err := checkPerson(displayName, email); err != nil {
		return err
	}
	if _, err := s.localUser(ctx, s.DB, name); err != nil {
		return err
	}
	return changed(s.DB.ExecContext(ctx, `UPDATE access_accounts SET display_name = $2, email = $3
		WHERE name = $1 AND kind = $4 AND provider = ''`, name, displayName, email, User))
}

func (s *Service) localUser(ctx context.Context, q querier, name string) (account, error) {
	a, err := findAccount(ctx, q, User, name)
	if err == nil && a.provider != "" {
		err = ErrProviderUser
	}
	return a, err
}

// SetAdmin makes a user a platform administrator, or one no more. Credentials stay good, and follow at once. Whom
// the groups of the provider make one stays one. Errors: ErrNotFound, ErrLastAdmin.
func (s *Service) SetAdmin(ctx context.Context, name string, admin bool) error {
	return s.changeAdmins(ctx, User, name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE access_accounts SET admin = $2 WHERE name = $1`, name, admin)
		return err
	})
}

// DisableUser ends all credentials of a user at once and for good, and lets the user have no others until EnableUser.
// Errors: ErrNotFound, ErrLastAdmin.
func (s *Service) DisableUser(ctx context.Context, name string) error {
	return s.setDisabled(ctx, User, name, true)
}

// EnableUser lets a disabled user sign in again. Errors: ErrNotFound.
func (s *Service) EnableUser(ctx context.Context, name string) error {
	return s.setDisabled(ctx, User, name, false)
}

// DeleteUser forgets a user with all credentials. A user of a provider is made again at the next sign-in there; to
// keep a user out, disable the user. Errors: ErrNotFound, ErrLastAdmin.
func (s *Service) DeleteUser(ctx context.Context, name string) error {
	return s.deleteAccount(ctx, User, name)
}

func (a account) user() UserInfo {
	return UserInfo{
		Name: a.name, DisplayName: a.displayName, Email: a.email, Provider: a.provider, Admin: a.admin,
		GroupsAdmin: a.groupsAdmin, Groups: a.groups, Disabled: a.disabled, HasPassword: a.password != "",
		Created: a.created, SignedIn: a.signedIn,
	}
}

// now is the time as it is kept.
func (s *Service) now() time.Time { return database.FromTime(database.Time(s.Now())) }
