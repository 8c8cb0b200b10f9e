package rest

// DeviceGrant is the grant type of the device flow.
const DeviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// DeviceAuthorizationRequest begins to sign in a device that has no browser, as a form (RFC 8628, section 3.1).
type DeviceAuthorizationRequest struct {
	// ClientID is what the device calls itself; its user is shown that, and the session is listed with it.
	ClientID string `json:"client_id" maxLength:"100"`
}

// DeviceAuthorization is what a device shows to its user, and what it keeps (RFC 8628, section 3.2).
type DeviceAuthorization struct {
	// DeviceCode is the secret of the device.
	DeviceCode string `json:"device_code" format:"password"`
	// UserCode is what the user types elsewhere, such as "WDJB-MJHT".
	UserCode string `json:"user_code"`
	// VerificationURI is the page on which they do; VerificationURIComplete has the code in it.
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	// ExpiresIn is how many seconds the codes live, and Interval how many the device waits between two polls; five more
	// after each slow_down.
	ExpiresIn int `json:"expires_in"`
	Interval  int `json:"interval"`
}

// TokenRequest asks whether the user has answered, as a form (RFC 8628, section 3.4).
type TokenRequest struct {
	GrantType  string `json:"grant_type" enum:"urn:ietf:params:oauth:grant-type:device_code"`
	DeviceCode string `json:"device_code" maxLength:"200" format:"password" writeOnly:"true"`
	ClientID   string `json:"client_id,omitempty" maxLength:"100"`
}

// AccessToken is a session, as OAuth clients take it (RFC 6749, section 5.1).
type AccessToken struct {
	Token string `json:"access_token" format:"password"`
	// Type is Bearer.
	Type string `json:"token_type"`
	// ExpiresIn is in seconds.
	ExpiresIn int `json:"expires_in"`
}

// OAuthError is an error as OAuth clients take it (RFC 6749, section 5.2; RFC 8628, section 3.5).
type OAuthError struct {
	// Code is one of the codes of this package that begin with OAuth.
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

// Codes of OAuth errors.
const (
	OAuthInvalidRequest       = "invalid_request"
	OAuthInvalidGrant         = "invalid_grant"
	OAuthUnsupportedGrantType = "unsupported_grant_type"
	OAuthAuthorizationPending = "authorization_pending" // the user has not answered yet
	OAuthSlowDown             = "slow_down"             // the device polls too often; five seconds more from now on
	OAuthAccessDenied         = "access_denied"         // the user said no
	OAuthExpiredToken         = "expired_token"         // the user did not answer in time
)
