package access

import (
	"context"
	"database/sql"
	"fmt"
	"time"
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
	// Password may be empty: then the user chooses one with what Passwords.Reset gives.
	Password string
}

// Users are those who sign in, local ones and those of identity providers.
type Users struct {
	*store
	passwords *Passwords
}

// Create makes a local user. Errors: *invalid.Error, ErrExists.
func (s *Users) Create(ctx context.Context, user NewUser) (UserInfo, error) {
	a, err := s.newAccount(ctx, user)
	if err != nil {
		return UserInfo{}, err
	}
	if err := insertAccount(ctx, s.db, a); err != nil {
		return UserInfo{}, err
	}
	return a.user(), nil
}

// newAccount checks a new user and hashes the password; it writes nothing.
func (s *Users) newAccount(ctx context.Context, user NewUser) (account, error) {
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
		a.password, err = s.passwords.hash(ctx, a, user.Password)
	}
	return a, err
}

func checkPerson(displayName, email string) error {
	if err := checkText("displayName", displayName, maxDisplayName); err != nil {
		return err
	}
	return checkEmail(email)
}

// Get returns a user. Errors: ErrNotFound.
func (s *Users) Get(ctx context.Context, name string) (UserInfo, error) {
	a, err := findAccount(ctx, s.db, User, name)
	return a.user(), err
}

// List returns users by name.
func (s *Users) List(ctx context.Context, page Page) (List[UserInfo], error) {
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

// Update sets what a local user is called and the address. Errors: *invalid.Error, ErrNotFound, ErrProviderUser.
func (s *Users) Update(ctx context.Context, name, displayName, email string) error {
	if err := checkPerson(displayName, email); err != nil {
		return err
	}
	if _, err := localUser(ctx, s.db, name); err != nil {
		return err
	}
	return changed(s.db.ExecContext(ctx, `UPDATE access_accounts SET display_name = $2, email = $3
		WHERE name = $1 AND kind = $4 AND provider = ''`, name, displayName, email, User))
}

// SetAdmin makes a user a platform administrator, or one no more. Credentials stay good, and follow at once. A user
// whom the groups of the provider make one stays one. Errors: ErrNotFound, ErrLastAdmin.
func (s *Users) SetAdmin(ctx context.Context, name string, admin bool) error {
	return s.changeAdmins(ctx, User, name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE access_accounts SET admin = $2 WHERE name = $1`, name, admin)
		return err
	})
}

// Disable ends all credentials of a user at once and for good, and lets the user have no others until Enable. Errors:
// ErrNotFound, ErrLastAdmin.
func (s *Users) Disable(ctx context.Context, name string) error {
	return s.setDisabled(ctx, User, name, true)
}

// Enable lets a disabled user sign in again. Errors: ErrNotFound.
func (s *Users) Enable(ctx context.Context, name string) error {
	return s.setDisabled(ctx, User, name, false)
}

// Delete forgets a user with all credentials. A user of a provider is made again at the next sign-in there; to keep a
// user out, disable the user. Errors: ErrNotFound, ErrLastAdmin.
func (s *Users) Delete(ctx context.Context, name string) error {
	return s.deleteAccount(ctx, User, name)
}

func (a account) user() UserInfo {
	return UserInfo{
		Name: a.name, DisplayName: a.displayName, Email: a.email, Provider: a.provider, Admin: a.admin,
		GroupsAdmin: a.groupsAdmin, Groups: a.groups, Disabled: a.disabled, HasPassword: a.password != "",
		Created: a.created, SignedIn: a.signedIn,
	}
}
