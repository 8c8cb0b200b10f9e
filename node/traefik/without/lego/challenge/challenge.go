// Package challenge has what proves the control of a domain.
package challenge

import "context"

// Provider shows an answer to a server, and takes it away.
type Provider interface {
	Present(ctx context.Context, domain, token, keyAuth string) error
	CleanUp(ctx context.Context, domain, token, keyAuth string) error
}
