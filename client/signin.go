package client

import (
	"context"
	"net/url"

	"kqueen.io/kqueen/api/rest"
)

// StartDevice begins to sign in a device that has no browser and calls itself so (operation startDevice). The caller need not be
// signed in.
func (c *Client) StartDevice(ctx context.Context, name string) (*rest.DeviceAuthorization, error) {
	return called[rest.DeviceAuthorization](ctx, c, "startDevice", nil, url.Values{"client_id": {name}})
}

// PollDevice asks whether the user has answered (operation pollDevice). Until then the error is a *[Problem] whose
// code is [rest.OAuthAuthorizationPending], or [rest.OAuthSlowDown]: wait five seconds more from then on. The caller need not
// be signed in.
func (c *Client) PollDevice(ctx context.Context, name, deviceCode string) (*rest.AccessToken, error) {
	return called[rest.AccessToken](ctx, c, "pollDevice", nil, url.Values{
		"client_id": {name}, "grant_type": {rest.DeviceGrant}, "device_code": {deviceCode},
	})
}

// GetDevice returns what a device asks for that shows a code (operation getDevice).
func (c *Client) GetDevice(ctx context.Context, userCode string) (*rest.DeviceRequest, error) {
	return called[rest.DeviceRequest](ctx, c, "getDevice", nil, nil, userCode)
}

// AnswerDevice approves or denies a device, which then acts as the caller (operation answerDevice).
func (c *Client) AnswerDevice(ctx context.Context, in rest.DeviceAnswer) error {
	return c.call(ctx, "answerDevice", nil, in, nil)
}

// ExchangeCode exchanges the code that a browser passed for a session (operation exchangeCode). The caller need not be signed in.
func (c *Client) ExchangeCode(ctx context.Context, in rest.CodeExchange) (*rest.Issued, error) {
	return called[rest.Issued](ctx, c, "exchangeCode", nil, in)
}

// ListProviders returns the identity providers by which users sign in (operation listProviders). The caller need not be
// signed in.
func (c *Client) ListProviders(ctx context.Context) (*rest.Page[rest.Provider], error) {
	return called[rest.Page[rest.Provider]](ctx, c, "listProviders", nil, nil)
}

// SetIdentityProviderSecret sets the secret of an identity provider's client (operation setIdentityProviderSecret).
func (c *Client) SetIdentityProviderSecret(ctx context.Context, name string, in rest.ClientSecret) error {
	return c.call(ctx, "setIdentityProviderSecret", nil, in, nil, name)
}
