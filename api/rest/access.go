package rest

import "time"

// SetUp creates the first administrator.
type SetUp struct {
	// Token is the one-time token that `kqueen up` printed.
	Token       string `json:"token" maxLength:"200" format:"password" writeOnly:"true"`
	Name        string `json:"name" maxLength:"64"`
	Password    string `json:"password" maxLength:"128" format:"password" writeOnly:"true"`
	DisplayName string `json:"displayName,omitempty" maxLength:"100"`
	Email       string `json:"email,omitempty" maxLength:"254"`
}

// SignIn authenticates a user of this installation by password.
type SignIn struct {
	Name     string `json:"name" maxLength:"64"`
	Password string `json:"password" maxLength:"128" format:"password" writeOnly:"true"`
}

// ChoosePassword gives a user the password of their choice.
type ChoosePassword struct {
	// Token is the one-time token that an administrator handed out.
	Token    string `json:"token" maxLength:"200" format:"password" writeOnly:"true"`
	Password string `json:"password" maxLength:"128" format:"password" writeOnly:"true"`
}

// ChangePassword replaces one's own password.
type ChangePassword struct {
	Old      string `json:"old" maxLength:"128" format:"password" writeOnly:"true"`
	Password string `json:"password" maxLength:"128" format:"password" writeOnly:"true"`
}

// OneTime is a token that one user can use once.
type OneTime struct {
	Token   string    `json:"token" format:"password"`
	Expires time.Time `json:"expiresAt"`
}

// Credential is a session or a token. Its secret is not in it.
type Credential struct {
	// Kind is session or token.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is what its owner calls a token, and the client of a session.
	Name  string `json:"name,omitempty"`
	Scope *Scope `json:"scope,omitempty"`
	// Mint says that the token makes others and names members.
	Mint bool `json:"mint,omitempty"`
	// MintedBy is the token that made it, and with which it ends.
	MintedBy string    `json:"mintedBy,omitempty"`
	Created  time.Time `json:"createdAt"`
	Expires  time.Time `json:"expiresAt"`
	// LastUsed is exact to a minute.
	LastUsed *time.Time `json:"lastUsedAt,omitempty"`
}

// Scope is a role in one organization, to which a token is narrowed.
type Scope struct {
	Organization string `json:"organization" maxLength:"40"`
	Role         string `json:"role" enum:"owner,operator,developer,viewer"`
}

// Issued is a new credential with its secret, which is shown once.
type Issued struct {
	Credential
	Token string `json:"token" format:"password"`
}

// NewToken asks for a token.
type NewToken struct {
	// Name says what it is for.
	Name string `json:"name" minLength:"1" maxLength:"100"`
	// Expires is at most a year away.
	Expires time.Time `json:"expiresAt"`
	// Scope narrows it; without one it may do what its owner may. Tokens of service accounts have the account's.
	Scope *Scope `json:"scope,omitempty"`
	// Mint lets it make service accounts, users who cannot sign in yet, and tokens that end with it and may no more, and name
	// members. It takes a fresh session.
	Mint bool `json:"mint,omitempty"`
}

// Me is the caller.
type Me struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Email       string `json:"email,omitempty"`
	// Kind is user, serviceAccount, or owner for the owner of the machine.
	Kind string `json:"kind"`
	// Admin says that the caller administers the installation.
	Admin bool `json:"admin"`
	// Roles are the caller's by organization, as far as this credential reaches.
	Roles map[string]string `json:"roles"`
	// Groups are those that the identity provider named.
	Groups     []string `json:"groups,omitempty"`
	Credential struct {
		Kind    string    `json:"kind"`
		ID      string    `json:"id"`
		Expires time.Time `json:"expiresAt"`
	} `json:"credential"`
}

// User is an account that signs in.
type User struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Email       string `json:"email,omitempty"`
	// Provider is the identity provider; empty for users of this installation.
	Provider string `json:"provider,omitempty"`
	Admin    bool   `json:"admin"`
	Disabled bool   `json:"disabled"`
	// HasPassword is false until a user of this installation has chosen one.
	HasPassword bool       `json:"hasPassword"`
	CreatedAt   time.Time  `json:"createdAt"`
	SignedInAt  *time.Time `json:"signedInAt,omitempty"`
}

// NewUser is a user of this installation to create. The answer to a reset is how the user chooses a password.
type NewUser struct {
	Name        string `json:"name" minLength:"1" maxLength:"64"`
	DisplayName string `json:"displayName,omitempty" maxLength:"100"`
	Email       string `json:"email,omitempty" maxLength:"254"`
	Admin       bool   `json:"admin,omitempty"`
}

// UserChange says what to change of a user; what is absent stays.
type UserChange struct {
	DisplayName *string `json:"displayName,omitempty" maxLength:"100"`
	Email       *string `json:"email,omitempty" maxLength:"254"`
	Admin       *bool   `json:"admin,omitempty"`
	Disabled    *bool   `json:"disabled,omitempty"`
}

// ServiceAccount is a program of an organization that makes requests.
type ServiceAccount struct {
	Name        string    `json:"name"`
	DisplayName string    `json:"displayName,omitempty"`
	Role        string    `json:"role"`
	Disabled    bool      `json:"disabled"`
	CreatedAt   time.Time `json:"createdAt"`
}

// NewServiceAccount is a service account to create.
type NewServiceAccount struct {
	Name        string `json:"name" minLength:"1" maxLength:"40"`
	DisplayName string `json:"displayName,omitempty" maxLength:"100"`
	Role        string `json:"role" enum:"owner,operator,developer,viewer"`
}

// ServiceAccountChange says what to change of a service account; what is absent stays.
type ServiceAccountChange struct {
	Role     *string `json:"role,omitempty" enum:"owner,operator,developer,viewer"`
	Disabled *bool   `json:"disabled,omitempty"`
}

// Page is one page of items that are not objects of the admin plane, such as users and tokens.
type Page[T any] struct {
	Items []T `json:"items"`
	// Cursor leads to the next page; empty on the last one.
	Cursor string `json:"cursor,omitempty"`
}
