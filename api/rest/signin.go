package rest

import (
	"net/url"
	"time"
)

// NewDevice begins to sign in a device that has no browser (RFC 8628).
type NewDevice struct {
	// Client is what the device calls itself; its user is shown that, and the session is listed with it.
	Client string `json:"client,omitempty" maxLength:"100"`
}

// Device is what a device shows to its user, and what it keeps.
type Device struct {
	// DeviceCode is the secret of the device.
	DeviceCode string `json:"deviceCode" format:"password"`
	// UserCode is what the user types elsewhere, such as "WDJB-MJHT".
	UserCode string `json:"userCode"`
	// VerificationURI is the page on which they do; VerificationURIComplete has the code in it.
	VerificationURI         string    `json:"verificationURI"`
	VerificationURIComplete string    `json:"verificationURIComplete"`
	Expires                 time.Time `json:"expires"`
	// IntervalSeconds is how long the device waits between two polls; five more after each slow-down.
	IntervalSeconds int `json:"intervalSeconds"`
}

// DevicePoll asks whether the user has answered.
type DevicePoll struct {
	DeviceCode string `json:"deviceCode" maxLength:"200" format:"password" writeOnly:"true"`
}

// DeviceRequest is what a user is asked to approve. An attacker may have sent the code: show all of it.
type DeviceRequest struct {
	// Client is what the device calls itself, and Source the address that it called from.
	Client    string    `json:"client,omitempty"`
	Source    string    `json:"source,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Expires   time.Time `json:"expires"`
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
