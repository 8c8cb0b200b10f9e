package accounts

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

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
	o := chain.Operation(http.MethodPost, "/device", "startDevice", "Start to sign in a device that has no browser", tag, chain.Public, chain.Recorded("start-device"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(api, o, h.startDevice)
	o = chain.Operation(http.MethodPost, "/device/token", "pollDevice", "Poll whether the user has answered; an approved device gets a session", tag, chain.Public, chain.Recorded("sign-in"))
	o.Errors = append(o.Errors, http.StatusConflict, http.StatusGone)
	huma.Register(api, o, h.pollDevice)
	huma.Register(api, chain.Operation(http.MethodGet, "/device/{userCode}", "getDevice", "Show what the device with this code asks for", tag, chain.OfAccount, chain.Recorded("look-up-device")), h.getDevice)
	huma.Register(api, chain.Operation(http.MethodPost, "/device/answer", "answerDevice", "Approve or deny a device, which then acts as the caller", tag, chain.OfAccount, chain.Recorded("answer-device")), h.answerDevice)
	huma.Register(api, chain.Operation(http.MethodPost, "/code", "exchangeCode", "Exchange the code from a browser for a session", tag, chain.Public, chain.Recorded("sign-in")), h.exchangeCode)
}

type startDeviceInput struct{ Body rest.NewDevice }

func (h *devices) startDevice(ctx context.Context, in *startDeviceInput) (*chain.Answer[rest.Device], error) {
	r := chain.Of(ctx)
	from := r.From
	from.Client = cmp.Or(in.Body.Client, from.Client)
	start, err := h.devices.Start(ctx, from)
	if err != nil {
		return nil, problem.ExplainAccess(err)
	}
	page := r.Base() + DevicePath
	return &chain.Answer[rest.Device]{Body: rest.Device{
		DeviceCode: start.DeviceCode.Reveal(), UserCode: start.UserCode, VerificationURI: page,
		VerificationURIComplete: page + "?" + url.Values{"user_code": {start.UserCode}}.Encode(),
		Expires:                 start.Expires, IntervalSeconds: int(start.Interval.Seconds()),
	}}, nil
}

type pollDeviceInput struct{ Body rest.DevicePoll }

func (h *devices) pollDevice(ctx context.Context, in *pollDeviceInput) (*chain.Answer[rest.Issued], error) {
	issued, err := h.devices.Poll(ctx, in.Body.DeviceCode)
	if err != nil {
		// A device asks every few seconds: that it waits is no news.
		chain.Of(ctx).Unremarkable = errors.Is(err, access.ErrAuthorizationPending) || errors.Is(err, access.ErrSlowDown)
		return nil, problem.ExplainAccess(err)
	}
	chain.Of(ctx).SignedIn(issued, "device")
	return &chain.Answer[rest.Issued]{Body: toIssued(issued)}, nil
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
