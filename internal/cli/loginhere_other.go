//go:build !linux

package cli

import "context"

// installationHere finds nothing: servers run on Linux.
func (*env) installationHere(context.Context) (server, authority string) { return "", "" }
