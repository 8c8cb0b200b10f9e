package oidc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"kqueen.io/kqueen/internal/platform/text"
)

// maxAnswer bounds what an issuer answers. The largest key sets of the field have some 20 KiB.
const maxAnswer = 512 << 10

// answerError says what is wrong with an answer, without repeating it: it may hold anything.
type answerError struct{ problem string }

func (e *answerError) Error() string { return e.problem }

// newHTTP makes the client for the issuers of one pool of roots. It goes where it is told and nowhere else: through no
// proxy of the environment, and after no redirect, which would hand the client's secret on.
func newHTTP(roots *x509.CertPool, deadline time.Duration) *http.Client {
	return &http.Client{
		Transport: &guarded{deadline: deadline, next: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: deadline}).DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    deadline,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        8,
			IdleConnTimeout:        30 * time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded reads whole answers within the bounds, and takes none but JSON where a document is asked for.
type guarded struct {
	next     *http.Transport
	deadline time.Duration
}

// RoundTrip is http.RoundTripper's. The answer is read when it returns.
func (g *guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), g.deadline)
	defer cancel()
	answer, body, err := g.read(request.WithContext(ctx))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, &answerError{"it did not answer in time"}
	}
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, &answerError{fmt.Sprintf("its answer is larger than %d KiB", maxAnswer>>10)}
	}
	if request.Method == http.MethodGet {
		if answer.StatusCode != http.StatusOK {
			return nil, &answerError{fmt.Sprintf("it answered with status %d, not 200", answer.StatusCode)}
		}
		if !json.Valid(body) {
			return nil, &answerError{"its answer is not JSON"}
		}
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	return answer, nil
}

func (g *guarded) read(request *http.Request) (*http.Response, []byte, error) {
	answer, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	return answer, body, err
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (g *guarded) CloseIdleConnections() { g.next.CloseIdleConnections() }

// explain says in words what went wrong with a call, and nothing that the other side made up.
func explain(err error) string {
	var answer *answerError
	var certificate *tls.CertificateVerificationError
	var call *url.Error
	switch {
	case errors.As(err, &answer):
		return answer.problem
	case errors.As(err, &certificate):
		return fmt.Sprintf("its certificate is not trusted: %s; is the field caBundle right?", brief(certificate.Err.Error()))
	case errors.As(err, &call):
		return brief(call.Err.Error())
	}
	return brief(err.Error())
}

// brief makes one short printable line.
func brief(words string) string { return text.CutLetters(text.Line(words), 200) }
