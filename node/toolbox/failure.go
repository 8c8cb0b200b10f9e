package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// Statuses with which curl ends (https://curl.se/libcurl/c/libcurl-errors.html).
const (
	statusUsage    = 2
	statusURL      = 3
	statusName     = 6
	statusConnect  = 7
	statusHTTP     = 22
	statusWrite    = 23
	statusTimeout  = 28
	statusTLS      = 35
	statusTransfer = 56
	statusVerify   = 60
)

// failure is an error and the status with which curl ends for it.
type failure struct {
	status int
	err    error
}

// failureOf tells why a request failed. What a context ended with counts more than the error of the step that it
// ended, which only says that it was canceled.
func failureOf(ctx context.Context, err error) failure {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		err = wrapper.Err
	}
	return failure{statusOf(err), err}
}

func statusOf(err error) int {
	if isTimeout(err) {
		return statusTimeout
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return statusName
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		return statusConnect
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return statusVerify
	}
	_, alert := errors.AsType[tls.AlertError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if alert || record || errors.Is(err, http.ErrSchemeMismatch) {
		return statusTLS
	}
	return statusTransfer
}

func isTimeout(err error) bool {
	timed, ok := errors.AsType[net.Error](err)
	return ok && timed.Timeout()
}
