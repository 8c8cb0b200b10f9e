package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// devicePath is the page on which a user answers a device.
const devicePath = "/device"

// registerFlows adds the ways to sign in that have more than one step.
func (s *Server) registerFlows() {
	const tag = "Sign-in"
	o := operation(http.MethodPost, "/device", "startDevice", "Begin to sign in a device that has no browser", tag, public, recorded("start-device"))
	o.DefaultStatus = http.StatusCreated
	huma.Register(s.api, o, s.startDevice)
	o = operation(http.MethodPost, "/device/token", "pollDevice", "Ask whether the user has answered; the answer to yes is a session", tag, public, recorded("sign-in"))
	o.Errors = append(o.Errors, http.StatusConflict, http.StatusGone)
	huma.Register(s.api, o, s.pollDevice)
	huma.Register(s.api, operation(http.MethodGet, "/device/{userCode}", "getDevice", "What a device asks for that shows this code", tag, ofAccount, recorded("look-up-device")), s.getDevice)
	huma.Register(s.api, operation(http.MethodPost, "/device/answer", "answerDevice", "Approve or deny a device, which then acts as you", tag, ofAccount, recorded("answer-device")), s.answerDevice)
	huma.Register(s.api, operation(http.MethodPost, "/code", "exchangeCode", "Turn what a browser brought into a session", tag, public, recorded("sign-in")), s.exchangeCode)
	huma.Register(s.api, operation(http.MethodGet, "/providers", "listProviders", "List the identity providers by which people sign in", tag, public), s.listProviders)
}

// explainFlow makes a problem of what a step of signing in ended with.
func explainFlow(err error) error {
	known := []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{access.ErrAuthorizationPending, http.StatusConflict, rest.CodeAuthorizationPending, "the user has not answered yet"},
		{access.ErrSlowDown, http.StatusTooManyRequests, rest.CodeSlowDown, "you ask too often; wait five seconds more from now on"},
		{access.ErrExpiredToken, http.StatusGone, rest.CodeExpired, "nobody answered in time; begin anew"},
		{access.ErrAccessDenied, http.StatusForbidden, rest.CodeDenied, "the user denied it, or may not sign in any more"},
		{access.ErrInvalidGrant, http.StatusUnauthorized, rest.CodeInvalidGrant, "the code is not good, or was used; begin anew"},
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			p := newProblem(k.status, k.code, k.detail)
			p.Retryable = k.err == access.ErrAuthorizationPending || k.err == access.ErrSlowDown //nolint:errorlint // it is the table's own
			return p
		}
	}
	return explainAccess(err)
}

type startDeviceInput struct{ Body rest.NewDevice }

func (s *Server) startDevice(ctx context.Context, in *startDeviceInput) (*created[rest.Device], error) {
	r := requestOf(ctx)
	from := r.from
	from.Client = cmp.Or(in.Body.Client, from.Client)
	start, err := s.Access.StartDevice(ctx, from)
	if err != nil {
		return nil, explainFlow(err)
	}
	page := r.base() + devicePath
	return &created[rest.Device]{Body: rest.Device{
		DeviceCode: start.DeviceCode.Reveal(), UserCode: start.UserCode, VerificationURI: page,
		VerificationURIComplete: page + "?" + url.Values{"user_code": {start.UserCode}}.Encode(),
		Expires:                 start.Expires, IntervalSeconds: int(start.Interval.Seconds()),
	}}, nil
}

type pollDeviceInput struct{ Body rest.DevicePoll }

func (s *Server) pollDevice(ctx context.Context, in *pollDeviceInput) (*ok[rest.Issued], error) {
	issued, err := s.Access.PollDevice(ctx, in.Body.DeviceCode)
	if err != nil {
		// A device asks every few seconds: that it waits is no news.
		requestOf(ctx).unremarkable = errors.Is(err, access.ErrAuthorizationPending) || errors.Is(err, access.ErrSlowDown)
		return nil, explainFlow(err)
	}
	requestOf(ctx).signedIn(issued, "device")
	return &ok[rest.Issued]{Body: toIssued(issued)}, nil
}

// signedIn notes for the action log who has signed in, and how.
func (r *request) signedIn(issued access.Issued, by string) {
	r.object = objectName{kind: "User", name: issued.Account}
	r.detail = map[string]string{"by": by, "session": issued.ID}
}

type getDeviceInput struct {
	UserCode string `path:"userCode" maxLength:"32"`
}

func (s *Server) getDevice(ctx context.Context, in *getDeviceInput) (*ok[rest.DeviceRequest], error) {
	r := requestOf(ctx)
	found, err := s.lookUpDevice(ctx, r, in.UserCode)
	if err != nil {
		return nil, err
	}
	return &ok[rest.DeviceRequest]{Body: rest.DeviceRequest{
		Client: found.Client, Source: sourceText(found.Source), CreatedAt: found.Created, Expires: found.Expires,
	}}, nil
}

// lookUpDevice finds a device by what somebody typed. Codes are short, so that wrong ones are written down; whoever
// types the right one has not done anything yet.
func (s *Server) lookUpDevice(ctx context.Context, r *request, userCode string) (access.DeviceRequest, error) {
	r.object.kind = "Device"
	found, err := s.Access.GetDevice(ctx, r.identity, userCode, r.from)
	if err != nil {
		return found, explainFlow(err)
	}
	r.unremarkable = true
	return found, nil
}

// sourceText is where a device calls from, for people: an address, or of IPv6 the network of a subscriber.
func sourceText(source string) string { return strings.TrimSuffix(source, "/32") }

type answerDeviceInput struct{ Body rest.DeviceAnswer }

func (s *Server) answerDevice(ctx context.Context, in *answerDeviceInput) (*struct{}, error) {
	return nil, s.answer(ctx, requestOf(ctx), in.Body.UserCode, in.Body.Approve)
}

func (s *Server) answer(ctx context.Context, r *request, userCode string, approve bool) error {
	r.object.kind = "Device"
	r.detail = map[string]string{"answer": answerWord(approve)}
	if err := s.Access.AnswerDevice(ctx, r.identity, userCode, approve, r.from); err != nil {
		return explainFlow(err)
	}
	return nil
}

func answerWord(approve bool) string {
	if approve {
		return "approve"
	}
	return "deny"
}

type exchangeCodeInput struct{ Body rest.CodeExchange }

func (s *Server) exchangeCode(ctx context.Context, in *exchangeCodeInput) (*ok[rest.Issued], error) {
	issued, err := s.Access.ExchangeCode(ctx, in.Body.Code, in.Body.CodeVerifier, in.Body.RedirectURI)
	if err != nil {
		return nil, explainFlow(err)
	}
	requestOf(ctx).signedIn(issued, "code")
	return &ok[rest.Issued]{Body: toIssued(issued)}, nil
}
