package rest

import (
	"net/url"
	"time"
)

// DeviceRequest is what a user is asked to approve. An attacker may have sent the code: show all of it.
type DeviceRequest struct {
	// Client is what the device calls itself, and Source the address that it called from.
	Client    string    `json:"client,omitempty"`
	Source    string    `json:"source,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Expires   time.Time `json:"expiresAt"`
}

// DeviceAnswer approves or denies a device, which then acts as the user.
type DeviceAnswer struct {
	UserCode string `json:"userCode" maxLength:"32"`
	Approve  bool   `json:"approve"`
}

// CodeExchange turns the code that a browser passed to a command line into a session.
type CodeExchange struct {
	Code string `json:"code" maxLength:"200" format:"password" writeOnly:"true"`
	// CodeVerifier is what the challenge was made of (RFC 7636).
	CodeVerifier string `json:"codeVerifier" maxLength:"128" format:"password" writeOnly:"true"`
	// RedirectURI is the one of the request, to the character.
	RedirectURI string `json:"redirectURI" maxLength:"500"`
}

// Provider is an identity provider by which users sign in.
type Provider struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
}

// CallbackPath is where browsers come back to from an identity provider.
func CallbackPath(provider string) string { return "/signin/" + url.PathEscape(provider) + "/callback" }

// ClientSecret is the secret of an identity provider's client.
type ClientSecret struct {
	Secret string `json:"secret" minLength:"1" maxLength:"4096" format:"password" writeOnly:"true"`
}
