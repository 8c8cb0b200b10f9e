//go:build !linux

package here

import (
	"context"
	"io"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// isHere finds none: servers run on Linux.
func isHere(*connection.Env, connection.Context) bool { return false }

// Installation finds nothing: servers run on Linux.
func Installation(context.Context, *connection.Env) (server, authority string) { return "", "" }

// VerifyExport has no key: servers run on Linux.
func VerifyExport(*connection.Env, io.Reader) (report *rest.AuditReport, complete bool, err error) {
	return nil, false, exit.Fail(exit.Failed, "an export is checked with the key of its installation; run it there, as its owner")
}
