package accounts

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// DevicePath is the page on which a user answers a device.
const DevicePath = "/device"

// devices are the ways to sign in that have more than one step.
type devices struct {
	devices *access.Devices
	codes   *access.Codes
	flows   *Flows
}

func (h *devices) register(api huma.API) {
	const tag = "Sign-in"
	registerForm[rest.DeviceAuthorizationRequest](api, h.startDevice, chain.Operation(
		http.MethodPost, "/device", "startDevice", "Start to sign in a device that has no browser (RFC 8628)", tag, chain.Public, chain.Recorded("start-device")))
	registerForm[rest.TokenRequest](api, h.pollDevice, chain.Operation(
		http.MethodPost, "/device/token", "pollDevice", "Poll whether the user has answered; an approved device gets a session (RFC 8628)", tag, chain.Public, chain.Recorded("sign-in")))
	huma.Register(api, chain.Operation(http.MethodGet, "/device/{userCode}", "getDevice", "Show what the device with this code asks for", tag, chain.OfAccount, chain.Recorded("look-up-device")), h.getDevice)
	huma.Register(api, chain.Operation(http.MethodPost, "/device/answer", "answerDevice", "Approve or deny a device, which then acts as the caller", tag, chain.OfAccount, chain.Recorded("answer-device")), h.answerDevice)
	huma.Register(api, chain.Operation(http.MethodPost, "/code", "exchangeCode", "Exchange the code from a browser for a session", tag, chain.Public, chain.Recorded("sign-in")), h.exchangeCode)
}

func (h *devices) startDevice(ctx context.Context, in *formInput) (*chain.Answer[rest.DeviceAuthorization], error) {
	form, err := in.values("client_id")
	if err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	from := r.From
	from.Client = form.Get("client_id")
	start, err := h.devices.Start(ctx, from)
	if err != nil {
		return nil, problem.ExplainAccess(err)
	}
	page := r.Base() + DevicePath
	return &chain.Answer[rest.DeviceAuthorization]{Body: rest.DeviceAuthorization{
		DeviceCode: start.DeviceCode.Reveal(), UserCode: start.UserCode, VerificationURI: page,
		VerificationURIComplete: page + "?" + url.Values{"user_code": {start.UserCode}}.Encode(),
		ExpiresIn:               secondsUntil(start.Expires), Interval: int(start.Interval.Seconds()),
	}}, nil
}

func (h *devices) pollDevice(ctx context.Context, in *formInput) (*chain.Answer[rest.AccessToken], error) {
	form, err := in.values("grant_type", "device_code")
	if err != nil {
		return nil, err
	}
	if form.Get("grant_type") != rest.DeviceGrant {
		return nil, oauthProblem(rest.OAuthUnsupportedGrantType, "grant_type has to be "+rest.DeviceGrant)
	}
	issued, err := h.devices.Poll(ctx, form.Get("device_code"))
	if err != nil {
		// A device asks every few seconds: that it waits is no news.
		chain.Of(ctx).Unremarkable = errors.Is(err, access.ErrAuthorizationPending) || errors.Is(err, access.ErrSlowDown)
		chain.Of(ctx).Denied = problem.Refuses(err)
		return nil, explainOAuth(err)
	}
	chain.Of(ctx).SignedIn(issued, "device")
	return &chain.Answer[rest.AccessToken]{Body: rest.AccessToken{Token: issued.Token.Reveal(), Type: "Bearer", ExpiresIn: secondsUntil(issued.Expires)}}, nil
}

// secondsUntil is how many whole seconds are left.
func secondsUntil(end time.Time) int {
	return max(int(time.Until(end).Round(time.Second).Seconds()), 0)
}

type getDeviceInput struct {
	UserCode string `path:"userCode" maxLength:"32"`
}

func (h *devices) getDevice(ctx context.Context, in *getDeviceInput) (*chain.Answer[rest.DeviceRequest], error) {
	r := chain.Of(ctx)
	found, err := h.flows.Device(ctx, r, in.UserCode)
	if err != nil {
		return nil, err
	}
	return &chain.Answer[rest.DeviceRequest]{Body: rest.DeviceRequest{
		Client: found.Client, Source: SourceText(found.Source), CreatedAt: found.Created, Expires: found.Expires,
	}}, nil
}

// SourceText is where a device calls from, for its user: an address, or of IPv6 the network of a subscriber.
func SourceText(source string) string { return strings.TrimSuffix(source, "/32") }

type answerDeviceInput struct{ Body rest.DeviceAnswer }

func (h *devices) answerDevice(ctx context.Context, in *answerDeviceInput) (*struct{}, error) {
	return nil, h.flows.Answer(ctx, chain.Of(ctx), in.Body.UserCode, in.Body.Approve)
}

type exchangeCodeInput struct{ Body rest.CodeExchange }

func (h *devices) exchangeCode(ctx context.Context, in *exchangeCodeInput) (*chain.Answer[rest.Issued], error) {
	issued, err := h.codes.Exchange(ctx, in.Body.Code, in.Body.CodeVerifier, in.Body.RedirectURI)
	if err != nil {
		return nil, problem.ExplainAccess(err)
	}
	chain.Of(ctx).SignedIn(issued, "code")
	return &chain.Answer[rest.Issued]{Body: toIssued(issued)}, nil
}
