package rest

// Member is a user, or a group of users, who belongs to an organization.
type Member struct {
	// ID is "user:" or "group:" and the name, as it stands (percent-encoded) in paths.
	ID string `json:"id"`
	// User is a name that signs in, and Group one of an identity provider: one of them is given.
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
	// Role is owner, operator, developer or viewer.
	Role string `json:"role"`
}

// Membership says what a member is to be.
type Membership struct {
	Role string `json:"role" enum:"owner,operator,developer,viewer"`
}
